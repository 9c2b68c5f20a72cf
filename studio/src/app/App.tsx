import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Router } from "wouter";
import { accessNeeded } from "../api/access";
import { queryClient } from "../api/queries";
import { appPath } from "../lib/baseUrl";
import { useStore } from "../lib/store";
import { LiveRegion } from "../ui/LiveRegion";
import { Toasts } from "../ui/Toast";
import { TooltipProvider } from "../ui/Tooltip";
import { Pages } from "./Pages";
import { Shell } from "./Shell";

const AccessDialog = lazy(() => import("./AccessDialog"));

/** The whole app. */
export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <Router base={appPath()}>
          <Shell>
            <Pages />
          </Shell>
          <AccessPrompt />
        </Router>
        <LiveRegion />
        <Toasts />
      </TooltipProvider>
    </QueryClientProvider>
  );
}

/** Asks for a key when one is needed, and is not even fetched before. */
function AccessPrompt() {
  return useStore(accessNeeded) ? (
    <Suspense fallback={null}>
      <AccessDialog />
    </Suspense>
  ) : null;
}
