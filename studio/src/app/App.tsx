import { QueryClientProvider } from "@tanstack/react-query";
import { Router } from "wouter";
import { queryClient } from "../api/queries";
import { appPath } from "../lib/place";
import { LiveRegion } from "../ui/LiveRegion";
import { Toasts } from "../ui/Toast";
import { TooltipProvider } from "../ui/Tooltip";
import { AccessDialog } from "./AccessDialog";
import { Pages } from "./Pages";
import { Shell } from "./Shell";

/** The whole app. */
export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <Router base={appPath()}>
          <Shell>
            <Pages />
          </Shell>
          <AccessDialog />
        </Router>
        <LiveRegion />
        <Toasts />
      </TooltipProvider>
    </QueryClientProvider>
  );
}
