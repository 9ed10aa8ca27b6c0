import { describe, expect, it } from "vitest";
import { keywordFault } from "./ad-campaign.ts";

describe("a keyword", () => {
  it.each([
    "dr martens boots",
    "dr. martens",
    "my little pony",
    "john lewis",
    "San Francisco hotels",
    "michael kors bag",
    "Lebensmittelunverträglichkeit",
    "Donaudampfschifffahrtsgesellschaft",
    "0.5 carat diamond ring",
    "90210",
    "running shoes for flat feet",
    "noise cancelling over-ear headphones",
    "how to tie a tie",
    "4K",
    "12",
    "booking.com",
    "c# books",
    "calendar 2025/2026",
    "iPhone 15 Pro Max",
    "WH-1000XM5",
    "RTX4090TI16GB",
    "10000mAh",
    "lego 75192",
    "電気ケトル",
    "чайник электрический для кухни",
    "who is who 2026",
    "what do you meme",
    "do it yourself",
    "wie ein einziger tag",
    "t-shirt",
    "rock & roll",
    "2,4-dichlorophenoxyacetic acid",
    "where the wild things are",
  ])("may be %j", (keyword) => expect(keywordFault(keyword)).toBeNull());

  it.each([
    [
      "an address",
      ["a@b.example", "anna＠example", "@annab", "https://a.example/x", "www.example", "192.168.0.1"],
    ],
    [
      "a number of a person",
      [
        "+44 20 7946 0958",
        "020-7946-0958",
        "(555) 010 9990",
        "kettle 4111111111111111",
        "078-05-1120",
        "٠٢٠٧٩٤٦٠٩",
      ],
    ],
    [
      "an id",
      [
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "deadbeef1234",
        "a1b2c3d4e5f6",
        "X9f8G7h6J5",
        "conv_01a2b3c4d5",
        "shoes for q2xZkYw9LrTnVbMsPdFgHjKlQwEr",
      ],
    ],
    [
      "a question",
      [
        "which shoes should i buy for mud",
        "kettle?",
        "can i wear boots",
        "welche schuhe soll ich kaufen",
        "quel est le meilleur vélo",
        "¿qué bicicleta",
        "私はどのやかんを買えばいいですか",
        "what is the best kettle",
      ],
    ],
  ] as const)("must not be %s", (fault, keywords) => {
    for (const keyword of keywords) expect([keyword, keywordFault(keyword)]).toEqual([keyword, fault]);
  });
});
