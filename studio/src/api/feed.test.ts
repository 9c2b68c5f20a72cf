import { QueryClient } from "@tanstack/react-query";
import { describe, expect, it } from "vitest";
import { invalidateQueries } from "./feed";

const NAMES = [["runs", {}], ["run", "one"], ["run", "two"], ["sessions"], ["approvals", null]] as const;

function listInvalidated(
  message: Parameters<typeof invalidateQueries>[1],
  approvals: readonly { run_id: string }[] = [],
): string[] {
  const client = new QueryClient();
  for (const queryKey of NAMES) {
    client.setQueryData(queryKey, queryKey[0] === "approvals" ? approvals : {});
  }
  invalidateQueries(client, message);
  return NAMES.filter((queryKey) => client.getQueryState(queryKey)?.isInvalidated).map((name) =>
    name.join(" "),
  );
}

describe("a message of the feed", () => {
  it("is about everything when it greets", () => {
    expect(listInvalidated({})).toHaveLength(NAMES.length);
  });

  it("is about one run and the lists it stands in", () => {
    expect(listInvalidated({ run_id: "one", status: "running" })).toEqual([
      "runs [object Object]",
      "run one",
      "sessions",
    ]);
  });

  it("is about what waits when the number of requests changed, or when one of them is of that run", () => {
    expect(listInvalidated({ run_id: "one", pending: 0 })).toContain("approvals ");
    expect(listInvalidated({ run_id: "one", status: "running" }, [{ run_id: "one" }])).toContain(
      "approvals ",
    );
    expect(listInvalidated({ run_id: "one", status: "running" }, [{ run_id: "two" }])).not.toContain(
      "approvals ",
    );
  });
});
