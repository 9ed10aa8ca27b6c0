// `svc ops campaign`: a campaign with who rendered its ads, and the acts that stop it and let it go on.

import { campaignRenders, changed, under } from "../../ops/shapes.ts";
import type { Of } from "../../protocol/shape.ts";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { actOptions, isAgreed, requiredText } from "../confirmation.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { visible } from "../terminal.ts";

export const opsCampaign: Command = {
  name: "ops campaign",
  usage: "BUSINESS_UUID CAMPAIGN_ID",
  summary: "show a campaign, stop it, or let it go on (for operators)",
  details: [
    "  --stop takes its ads and sponsored products out of serving in every region within seconds, and no render of them counts.",
    "  New terms of the advertiser do not undo that, only --resume does. The advertiser reads the text of --statement.",
  ],
  options: `
    --stop            stop it
    --resume          let it go on
    --statement TEXT  --stop: what the advertiser is told
${actOptions}
    --yes             do not ask${opsOptions}`,
  run: async (call) => {
    const [stops, resumes] = [call.flag("stop"), call.flag("resume")];
    const [business, campaign, further] = call.positionals;
    if (business === undefined || campaign === undefined || further !== undefined || (stops && resumes))
      throw new UsageError(
        "Name a business and its campaign, and --stop or --resume. See: svc help ops campaign",
      );
    if (!stops && call.text("statement") !== null) throw new UsageError("--statement is for --stop alone.");
    const path = `/ops/campaigns/${encodeURIComponent(business)}/${encodeURIComponent(campaign)}`;
    const { terminal } = call;
    const by = stops || resumes ? requiredText(call, "by", opsCampaign) : undefined;
    const ops = await connectOps(call, by);
    const shown = await ops.get(path, under("campaign", campaignRenders));
    if (by === undefined) {
      terminal.print(call.flag("json") ? JSON.stringify(shown) : wordsOf(shown.campaign));
      return exitCodes.done;
    }
    const reason = requiredText(call, "reason", opsCampaign);
    const seen = { expected: shown.campaign.change, reason };
    const members = stops ? { statement: requiredText(call, "statement", opsCampaign), ...seen } : seen;
    const will = stops ? "  Nothing of it is served or rendered." : "  It goes on as its terms say.";
    if (!(await isAgreed(call, ops.url, [`  ${wordsOf(shown.campaign)}`, will]))) return exitCodes.negative;
    const form = changed("campaign", campaignRenders);
    const answer = await ops.post(`${path}/${stops ? "stop" : "resume"}`, members, form);
    const said = answer.changed ? `Done. ${wordsOf(answer.campaign)}` : "It was so before.";
    terminal.print(call.flag("json") ? JSON.stringify(answer) : said);
    return exitCodes.done;
  },
};

function wordsOf({ campaign_id, state, stopped, renders, companies }: Of<typeof campaignRenders>): string {
  const why = stopped === null ? "" : ` since ${stopped.at}: ${visible(stopped.statement)}`;
  return `${visible(campaign_id)} is ${state}${why}. Renders: ${renders}, by ${companies.length} companies of this page.`;
}
