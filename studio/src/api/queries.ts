import { QueryClient } from "@tanstack/react-query";
import { Problem } from "./problem";

/** Refusals are final; only a server that cannot be reached is asked again. */
function shouldRetry(count: number, error: Error): boolean {
  return count < 3 && error instanceof Problem && (error.status === 0 || error.status === 503);
}

/** What is known of the server, shared by all components. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: shouldRetry, staleTime: 2_000, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
});
