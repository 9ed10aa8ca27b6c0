import { expect, it } from "vitest";
import { MavenProgress } from "./maven.ts";

const written = [
  "[INFO] Scanning for projects...\n",
  "Downloading from central: https://repository.example/a.pom\n",
  "Progress (1): 4.1/18 kB\rProgress (1): 18 kB   \r                   \r",
  "Downloaded from central: https://repository.example/a.pom (18 kB at 108 kB/s)\n",
  "Progress (2): 0.5/99 MB | 482 B\rProgress (2): 40/99 MB | 1.5 kB",
  "\rProgress (1): 41.2/99 MB\r",
];

it("counts the files that are there, and the bytes of those under way besides", () => {
  const progress = new MavenProgress();
  const texts = written.map((chunk) => {
    progress.take(chunk);
    return progress.text();
  });
  expect(texts).toEqual([
    "0 files, 0.0 MB",
    "0 files, 0.0 MB",
    "0 files, 0.0 MB",
    "1 file, 0.0 MB",
    "1 file, 0.5 MB",
    "1 file, 41.2 MB",
  ]);
  progress.take("Downloaded from central: https://repository.example/b.zip (99 MB at 12 MB/s)\n");
  expect(progress.text()).toBe("2 files, 99.0 MB");
});

it("is the same in whatever pieces it comes, and passes on what is no progress", () => {
  const whole = `${written.join("")}[ERROR] no such artifact\nand why`;
  for (const length of [1, 2, 7, 31]) {
    const progress = new MavenProgress();
    let said = "";
    for (let at = 0; at < whole.length; at += length) said += progress.take(whole.slice(at, at + length));
    expect(said).toBe("[ERROR] no such artifact\n");
    expect(progress.rest()).toBe("and why");
    expect(progress.text()).toBe("1 file, 41.2 MB");
  }
});
