import { useRef } from "react";
import { Link, useLocation } from "wouter";
import { newIdempotencyKey } from "../../api/client";
import { useStartDemo, useStartOptions } from "../../api/startRun";
import { useWords } from "../../i18n";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { ErrorNote } from "../../ui/ErrorNote";
import { DoneIcon, PlayIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { DemoSteps } from "./DemoSteps";

/** The first visit: what this is, a demonstration that needs no key, and where a model is configured. */
export function Welcome() {
  const words = useWords("welcome");
  return (
    <Page title={words.title}>
      <div className="flex max-w-3xl flex-col gap-5">
        <div className="flex flex-col gap-1 text-base leading-relaxed">
          <p>{words.what}</p>
          <p>{words.how}</p>
          <p>{words.trust}</p>
        </div>
        <Demo />
        <OwnModel />
      </div>
    </Page>
  );
}

function Demo() {
  const words = useWords("welcome");
  const [, navigate] = useLocation();
  const { mutate, isPending, isSuccess, error } = useStartDemo();
  const key = useRef<string>(undefined);
  const begin = () => {
    key.current ??= newIdempotencyKey();
    mutate(
      { key: key.current },
      { onSuccess: ({ run_id }) => navigate(`/runs/${encodeURIComponent(run_id)}`) },
    );
  };
  return (
    <section
      aria-labelledby="demo-heading"
      className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4"
    >
      <div className="flex flex-wrap items-center gap-2">
        <h2 id="demo-heading" className="text-base font-semibold">
          {words.demo}
        </h2>
        <Badge tone="model">{words.scripted}</Badge>
      </div>
      <p className="text-soft">{words.scriptedHint}</p>
      <DemoSteps />
      <ErrorNote error={error} />
      <div>
        <Button tone="primary" icon={<PlayIcon />} busy={isPending || isSuccess} onClick={begin}>
          {words.start}
        </Button>
      </div>
    </section>
  );
}

function OwnModel() {
  const words = useWords("welcome");
  const { data } = useStartOptions();
  return (
    <section
      aria-labelledby="model-heading"
      className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-4"
    >
      <h2 id="model-heading" className="text-base font-semibold">
        {words.own}
      </h2>
      {data?.model_ready ? (
        <p className="flex items-center gap-1.5">
          <DoneIcon className="size-4 text-good" />
          {words.ready(data.models.executor ?? "")}
        </p>
      ) : (
        <p className="text-soft">{words.ownHint}</p>
      )}
      <p className="flex flex-wrap gap-x-4 gap-y-1">
        {data?.model_ready ? (
          <Link href="/new" className="font-medium">
            {words.startRun}
          </Link>
        ) : null}
        <Link href="/operations/model" className="font-medium">
          {words.configure}
        </Link>
      </p>
    </section>
  );
}
