// What an AI company paid in, and the statement of every month, also as the files that its keys are answered.

import { h } from "preact";
import type { Route } from "../../api/route.ts";
import type { StatementFormat } from "../../service/portal/company.ts";
import type { OwnBusiness } from "../../service/portal/owner.ts";
import { link, paragraph } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { statementContent, yearContent } from "../pages/statements.ts";
import { type OwnVisit, ownFile, ownPage, page, problemPage } from "../visit.ts";
import { type AccountDeps, companyPath } from "./account.ts";

const texts = () => wording().company.statements;
const monthPath = `${statementsPath(":named")}/:inner`;

export function statementsPath(uuid: string): string {
  return `${companyPath(uuid)}/statements`;
}

export function statementRoutes(deps: AccountDeps): readonly Route[] {
  const { owner, company } = deps;
  const companyOf = async ({ who, named }: OwnVisit): Promise<OwnBusiness | null> => {
    const own = await owner.business(who, named);
    return own?.party.kind === "ai_company" ? own : null;
  };
  const fileRoute = (format: StatementFormat, mediaType: string): Route =>
    ownFile(
      deps,
      `${monthPath}/${format}`,
      `The statement of a month as ${format}`,
      mediaType,
      async (visit) => {
        const { named: uuid, inner: month } = visit;
        const file = (await companyOf(visit)) && (await company.statementFile(uuid, month, format));
        return file && { name: `statement-${month}.${format}`, file };
      },
    );
  return [
    ownPage(deps, statementsPath(":named"), "What a company paid in, and its statements", async (visit) => {
      const { named: uuid, cursor } = visit;
      const own = await companyOf(visit);
      const year = own && (await company.statements(uuid, cursor));
      if (own === null || (year === null && cursor !== null)) return problemPage("not_there", 404);
      const content = [
        h("h1", null, texts().title),
        year === null ? paragraph(texts().none) : yearContent(statementsPath(uuid), year),
        paragraph(link(companyPath(uuid), own.party.legal_name)),
      ];
      return page(texts().title, h("div", null, content));
    }),
    ownPage(deps, monthPath, "The statement of a month", async (visit) => {
      const { named: uuid, inner: month } = visit;
      const statement = (await companyOf(visit)) && (await company.statement(uuid, month));
      if (statement === null) return problemPage("not_there", 404);
      const title = texts().of(month);
      return page(
        title,
        h("div", null, h("h1", null, title), statementContent(statementsPath(uuid), statement)),
      );
    }),
    fileRoute("json", "application/json"),
    fileRoute("csv", "text/csv"),
  ];
}
