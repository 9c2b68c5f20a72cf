import type { ComponentProps } from "react";
import { lazy, Suspense } from "react";
import { Skeleton } from "../../ui/Skeleton";

const LazyTimeline = lazy(async () => ({ default: (await import("./timeline/Timeline")).Timeline }));
const LazyDetails = lazy(async () => ({ default: (await import("./details/Details")).Details }));
const LazyFiles = lazy(async () => ({ default: (await import("./files/Files")).Files }));
const LazyFork = lazy(async () => ({ default: (await import("./fork/ForkDialog")).ForkDialog }));
const LazyReplayControls = lazy(async () => ({
  default: (await import("./replay/ReplayControls")).ReplayControls,
}));

/** The bars of a run; fetched when they are first looked at. */
export function Timeline(props: ComponentProps<typeof LazyTimeline>) {
  return (
    <Suspense fallback={<Skeleton />}>
      <LazyTimeline {...props} />
    </Suspense>
  );
}

/** Everything about one event. */
export function Details(props: ComponentProps<typeof LazyDetails>) {
  return (
    <Suspense fallback={<Skeleton />}>
      <LazyDetails {...props} />
    </Suspense>
  );
}

/** The files of a run. */
export function Files(props: ComponentProps<typeof LazyFiles>) {
  return (
    <Suspense fallback={<Skeleton />}>
      <LazyFiles {...props} />
    </Suspense>
  );
}

/** Begins a new run from an event. */
export function ForkDialog(props: ComponentProps<typeof LazyFork>) {
  return (
    <Suspense>
      <LazyFork {...props} />
    </Suspense>
  );
}

/** A slider over the events of a run. */
export function ReplayControls(props: ComponentProps<typeof LazyReplayControls>) {
  return (
    <Suspense fallback={<Skeleton lines={1} />}>
      <LazyReplayControls {...props} />
    </Suspense>
  );
}
