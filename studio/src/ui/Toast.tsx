import { useWords } from "../i18n";
import { createStore, useStore } from "../lib/store";
import { IconButton } from "./IconButton";
import { CrossIcon, DoneIcon, WarnIcon } from "./icons";
import { announce } from "./LiveRegion";

interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const MAX_TOASTS = 4;
const DISPLAY_MS = 6000;
const notices = createStore<readonly Notice[]>([]);
let last = 0;

/** Shows a short notice for a while; bad ones stay until they are dismissed. */
export function toast(text: string, { bad = false }: { bad?: boolean } = {}): void {
  last += 1;
  const id = last;
  notices.set((before) => [...before, { id, text, bad }].slice(-MAX_TOASTS));
  announce(text);
  if (!bad) {
    setTimeout(() => dismiss(id), DISPLAY_MS);
  }
}

function dismiss(id: number): void {
  notices.set((before) => before.filter((notice) => notice.id !== id));
}

/** Where notices appear; stands once in the app. */
export function Toasts() {
  const words = useWords("ui");
  const visibleNotices = useStore(notices);
  return (
    <section
      aria-label={words.notifications}
      className="pointer-events-none fixed right-3 bottom-3 z-50 flex flex-col gap-2"
    >
      {visibleNotices.map((notice) => (
        <div
          key={notice.id}
          className="pointer-events-auto flex max-w-sm items-start gap-2 rounded-md border border-line bg-raised p-3 shadow-lg"
        >
          {notice.bad ? (
            <WarnIcon className="mt-0.5 size-4 shrink-0 text-bad" />
          ) : (
            <DoneIcon className="mt-0.5 size-4 shrink-0 text-good" />
          )}
          <p className="min-w-0 flex-1">{notice.text}</p>
          <IconButton small label={words.dismiss} icon={<CrossIcon />} onClick={() => dismiss(notice.id)} />
        </div>
      ))}
    </section>
  );
}
