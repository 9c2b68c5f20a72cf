import * as Primitive from "@radix-ui/react-dialog";
import type { ReactNode } from "react";
import { useRef, useSyncExternalStore } from "react";
import { useWords } from "../../../i18n";
import { useKeys } from "../../../lib/keys";
import { IconButton } from "../../../ui/IconButton";
import { CrossIcon } from "../../../ui/icons";

const NARROW = "(max-width: 1023px)";

/** Where details stand: beside the page, or over all of it where there is no room; Escape closes both. */
export function Frame({
  title,
  heading,
  onClose,
  children,
}: {
  title: string;
  heading: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  return useNarrow() ? (
    <Sheet title={title} heading={heading} onClose={onClose}>
      {children}
    </Sheet>
  ) : (
    <Panel title={title} heading={heading} onClose={onClose}>
      {children}
    </Panel>
  );
}

interface FrameProps {
  title: string;
  heading: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

function Panel({ heading, onClose, children }: FrameProps) {
  const words = useWords("ui");
  useKeys([{ keys: "Escape", label: words.close, run: onClose }]);
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <header className="flex items-start gap-2">
        <div className="min-w-0 flex-1">{heading}</div>
        <IconButton small label={words.close} icon={<CrossIcon />} onClick={onClose} />
      </header>
      {children}
    </div>
  );
}

function Sheet({ title, heading, onClose, children }: FrameProps) {
  const words = useWords("ui");
  const before = useRef<Element>(null);
  return (
    <Primitive.Root open onOpenChange={(next) => !next && onClose()}>
      <Primitive.Portal>
        {/* Not the primitive's own cover: that one adds a style element, which our content policy forbids. */}
        <div data-dialog-cover="" className="fixed inset-0 z-40 bg-black/45" />
        <Primitive.Content
          aria-describedby={undefined}
          onOpenAutoFocus={() => {
            before.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            (before.current as HTMLElement | null)?.focus();
          }}
          className="fixed inset-x-0 top-8 bottom-0 z-40 flex flex-col gap-2 rounded-t-lg border-t border-line bg-surface p-3 shadow-xl"
        >
          <header className="flex items-start gap-2 pr-10">
            <Primitive.Title className="sr-only">{title}</Primitive.Title>
            <div className="min-w-0 flex-1">{heading}</div>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
          {/* Last, so that the first tab is focused; without a tooltip, which would take Escape. */}
          <Primitive.Close
            aria-label={words.close}
            className="absolute top-2 right-2 inline-flex size-8 items-center justify-center rounded-md hover:bg-sunken"
          >
            <CrossIcon />
          </Primitive.Close>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = window.matchMedia?.(NARROW);
      query?.addEventListener("change", listener);
      return () => query?.removeEventListener("change", listener);
    },
    () => window.matchMedia?.(NARROW).matches ?? false,
    () => false,
  );
}
