import { readFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, it } from "vitest";

it("the types are made from the committed document", async () => {
  const read = (name: string) => readFileSync(`${import.meta.dirname}/${name}`, "utf8");
  const made = astToString(await openapiTS(JSON.parse(read("openapi.json"))));
  expect(read("schema.ts").includes(made.trim()), "run `npm run types`").toBe(true);
});
