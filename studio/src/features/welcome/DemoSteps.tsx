import type { ReactNode } from "react";
import { useWords } from "../../i18n";
import { FileIcon, HandIcon, ToolIcon } from "../../ui/icons";

/** What happens in the demonstration, in three steps. */
export function DemoSteps() {
  const words = useWords("welcome");
  return (
    <ol className="grid gap-3 sm:grid-cols-3">
      <Step icon={<ToolIcon />} title={words.step1}>
        {words.step1Hint}
      </Step>
      <Step icon={<HandIcon />} title={words.step2}>
        {words.step2Hint}
      </Step>
      <Step icon={<FileIcon />} title={words.step3}>
        {words.step3Hint}
      </Step>
    </ol>
  );
}

function Step({ icon, title, children }: { icon: ReactNode; title: string; children: ReactNode }) {
  return (
    <li className="rounded-md bg-sunken p-3">
      <p className="flex items-center gap-1.5 font-medium">
        {icon}
        {title}
      </p>
      <p className="mt-1 text-soft">{children}</p>
    </li>
  );
}
