import { useState } from "react";
import { accessKey } from "../../../api/access";
import { getBlob } from "../../../api/client";
import { exportAddress, pageAddress } from "../../../api/files";
import { useResumeRun } from "../../../api/runs";
import type { LogEvent, RunView } from "../../../events";
import { useLanguage, useWords } from "../../../i18n";
import { useCommands } from "../../../lib/commands";
import { downloadText } from "../../../lib/download";
import { Button } from "../../../ui/Button";
import { useProblemText } from "../../../ui/ErrorNote";
import { IconButton } from "../../../ui/IconButton";
import {
  DownloadIcon,
  ForkIcon,
  MoreIcon,
  PlayIcon,
  RetryIcon,
  ShieldIcon,
  StoppedIcon,
} from "../../../ui/icons";
import { Menu, MenuItem, MenuLine } from "../../../ui/Menu";
import { toast } from "../../../ui/Toast";
import { isFinished } from "../displayStatus";
import { CancelDialog } from "./CancelDialog";
import { downloadFrom } from "./download";
import { TryAgain } from "./TryAgain";
import { VerifyDialog } from "./VerifyDialog";

/** What can be done to a run. */
export function RunActions({
  runId,
  view,
  events,
  trouble,
  replaying,
  onReplay,
  onFork,
}: {
  runId: string;
  view: RunView;
  events: readonly LogEvent[];
  /** Why no worker runs it, if none does. */
  trouble: boolean;
  replaying: boolean;
  onReplay: () => void;
  onFork: () => void;
}) {
  const words = useWords("run");
  const language = useLanguage();
  const problemText = useProblemText();
  const [open, setOpen] = useState<"cancel" | "verify" | null>(null);
  const resume = useResumeRun();
  const over = isFinished(view);
  const hasOpenRequests = view.approvals.length > 0 || view.questions.length > 0;
  const isPaused = !over && (trouble || (view.state.status === "waiting_for_user" && !hasOpenRequests));
  const goOn = () =>
    resume.mutate(
      { id: runId },
      {
        onSuccess: () => toast(words.resumed),
        onError: (error) => toast(problemText(error), { bad: true }),
      },
    );
  const save = (address: string, name: string) =>
    downloadFrom(address, name, accessKey() === null ? null : getBlob).catch((error: unknown) =>
      toast(problemText(error), { bad: true }),
    );
  const archive = () => void save(exportAddress(runId), `${runId}.tar.gz`);
  const page = () => void save(pageAddress(runId, language === "zh-CN" ? "zh" : "en"), `${runId}.html`);
  const lines = () =>
    downloadText(
      `${runId}.jsonl`,
      events.map((event) => `${JSON.stringify(event)}\n`).join(""),
      "application/jsonl",
    );
  useCommands([
    { id: "run-fork", label: words.fork, icon: <ForkIcon />, run: onFork },
    { id: "run-replay", label: words.replay, icon: <PlayIcon />, run: onReplay },
    { id: "run-verify", label: words.verify, icon: <ShieldIcon />, run: () => setOpen("verify") },
    { id: "run-export", label: words.exportArchive, icon: <DownloadIcon />, run: archive },
    { id: "run-export-lines", label: words.exportLines, icon: <DownloadIcon />, run: lines },
    { id: "run-export-page", label: words.exportPage, icon: <DownloadIcon />, run: page },
  ]);
  return (
    <>
      {isPaused ? (
        <Button small tone="primary" icon={<PlayIcon />} busy={resume.isPending} onClick={goOn}>
          {words.resume}
        </Button>
      ) : null}
      {view.state.status === "failed" ? <TryAgain runId={runId} /> : null}
      {over ? null : (
        <Button small tone="danger" icon={<StoppedIcon />} onClick={() => setOpen("cancel")}>
          {words.cancel}
        </Button>
      )}
      <Button small icon={<ForkIcon />} onClick={onFork}>
        {words.fork}
      </Button>
      <Menu
        label={words.export}
        trigger={
          <Button small icon={<DownloadIcon />}>
            {words.export}
          </Button>
        }
      >
        <MenuItem onSelect={archive}>{words.exportArchive}</MenuItem>
        <MenuItem onSelect={lines}>{words.exportLines}</MenuItem>
        <MenuItem onSelect={page}>{words.exportPage}</MenuItem>
      </Menu>
      <Menu label={words.more} trigger={<IconButton small label={words.more} icon={<MoreIcon />} />}>
        <MenuItem icon={<PlayIcon />} onSelect={onReplay}>
          {replaying ? words.endReplay : words.replay}
        </MenuItem>
        <MenuItem icon={<ShieldIcon />} onSelect={() => setOpen("verify")}>
          {words.verify}
        </MenuItem>
        {over ? null : (
          <>
            <MenuLine />
            <MenuItem icon={<RetryIcon />} onSelect={goOn}>
              {words.resume}
            </MenuItem>
          </>
        )}
      </Menu>
      <CancelDialog runId={runId} open={open === "cancel"} onClose={() => setOpen(null)} />
      <VerifyDialog runId={runId} open={open === "verify"} onClose={() => setOpen(null)} />
    </>
  );
}
