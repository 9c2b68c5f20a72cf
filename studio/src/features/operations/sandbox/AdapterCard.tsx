import type { SandboxAdapter } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { Disclosure } from "../../../ui/Disclosure";
import { DoneIcon, FailedIcon } from "../../../ui/icons";
import { JsonView } from "../../../ui/JsonView";
import { ServerBlock } from "../../../ui/ServerBlock";
import { ServerText } from "../../../ui/ServerText";

/** One sandbox adapter: whether it works, and if not, why and how to fix it. */
export function AdapterCard({ adapter, inUse }: { adapter: SandboxAdapter; inUse: boolean }) {
  const words = useWords("operations").sandbox;
  return (
    <li className="flex min-w-0 flex-col gap-2 rounded-lg border bg-surface p-3">
      <div className="flex flex-wrap items-center gap-2">
        <h4 className="font-semibold">{displayText(adapter.adapter)}</h4>
        {adapter.works ? (
          <Badge tone="good" icon={<DoneIcon />}>
            {words.works}
          </Badge>
        ) : (
          <Badge tone="bad" icon={<FailedIcon />}>
            {words.fails}
          </Badge>
        )}
        {inUse ? <Badge tone="accent">{words.inUse}</Badge> : null}
        <span className="text-soft">{displayText(adapter.version)}</span>
      </div>
      {adapter.problem ? <ServerText text={adapter.problem} className="block" /> : null}
      {adapter.fix ? (
        <div>
          <p className="mb-1 font-medium">{words.fix}</p>
          <ServerBlock text={adapter.fix} label={words.fix} />
        </div>
      ) : null}
      {Object.keys(adapter.facts).length > 0 ? (
        <Disclosure title={words.facts}>
          <JsonView value={adapter.facts} />
        </Disclosure>
      ) : null}
    </li>
  );
}
