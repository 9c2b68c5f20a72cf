import { lazy, Suspense } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { Skeleton } from "../ui/Skeleton";
import { ErrorBoundary } from "./ErrorBoundary";

const pages = {
  runs: lazy(() => import("../routes/runs")),
  run: lazy(() => import("../routes/run")),
  start: lazy(() => import("../routes/new")),
  compare: lazy(() => import("../routes/compare")),
  approvals: lazy(() => import("../routes/approvals")),
  sessions: lazy(() => import("../routes/sessions")),
  skills: lazy(() => import("../routes/skills")),
  skill: lazy(() => import("../routes/skill")),
  operations: lazy(() => import("../routes/operations")),
  welcome: lazy(() => import("../routes/welcome")),
  notFound: lazy(() => import("../routes/not-found")),
};

/** Which page stands at which address; each is fetched when it is first needed. */
export function Pages() {
  const [location] = useLocation();
  return (
    <ErrorBoundary key={location.split("/")[1] ?? ""}>
      <Suspense fallback={<Skeleton />}>
        <Switch>
          <Route path="/">
            <Redirect to="/runs" replace />
          </Route>
          <Route path="/runs" component={pages.runs} />
          <Route path="/new" component={pages.start} />
          <Route path="/compare" component={pages.compare} />
          <Route path="/runs/:id/:view?">{(params) => <pages.run id={params.id} view={params.view} />}</Route>
          <Route path="/approvals/:id?">{(params) => <pages.approvals id={params.id} />}</Route>
          <Route path="/sessions/:id?">{(params) => <pages.sessions id={params.id} />}</Route>
          <Route path="/skills" component={pages.skills} />
          <Route path="/skills/:name/:view?">
            {(params) => <pages.skill name={params.name} view={params.view} />}
          </Route>
          <Route path="/operations/:tab?">{(params) => <pages.operations tab={params.tab} />}</Route>
          <Route path="/welcome" component={pages.welcome} />
          <Route component={pages.notFound} />
        </Switch>
      </Suspense>
    </ErrorBoundary>
  );
}
