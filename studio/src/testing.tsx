import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import { words } from "./i18n/en";
import { setWords, type Words } from "./i18n/words";
import { TooltipProvider } from "./ui/Tooltip";

/** Renders something as the app would, in English unless other words are given; for tests. */
export function renderApp(element: ReactNode, options: { path?: string; words?: Words } = {}) {
  setWords(options.words ?? words);
  const location = memoryLocation({ path: options.path ?? "/", record: true });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const rendered = render(
    <QueryClientProvider client={client}>
      <TooltipProvider>
        <Router hook={location.hook} searchHook={location.searchHook}>
          {element}
        </Router>
      </TooltipProvider>
    </QueryClientProvider>,
  );
  return { ...rendered, history: location.history };
}

/** What the server answers, by method and path below the API; anything else is not found. Gives the requests made. */
export function mockServer(
  responses: Record<string, unknown>,
): { method: string; path: string; body: unknown }[] {
  const requests: { method: string; path: string; body: unknown }[] = [];
  vi.stubGlobal("fetch", async (address: string, asking: RequestInit = {}) => {
    const path = new URL(address, "http://localhost/studio/").pathname.replace(/^.*\/api\/v1\//, "");
    const method = asking.method ?? "GET";
    requests.push({
      method,
      path,
      body: typeof asking.body === "string" ? JSON.parse(asking.body) : undefined,
    });
    const response = responses[`${method} ${path}`];
    if (response instanceof Response) {
      return response.clone();
    }
    return response === undefined
      ? Response.json({ kind: "not_found", detail: "not found" }, { status: 404 })
      : Response.json(response);
  });
  return requests;
}
