import * as Primitive from "@radix-ui/react-dialog";
import { type ReactNode, type RefObject, useRef } from "react";
import { useWords } from "../i18n";
import { classes } from "../lib/classes";
import { CrossIcon } from "./icons";

/** What a dialog takes. */
export interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** One sentence below the title. */
  description?: ReactNode;
  children: ReactNode;
  /** Buttons at the lower edge. */
  actions?: ReactNode;
  wide?: boolean;
  hideTitle?: boolean;
  /** What is focused first, instead of the first control. */
  initialFocus?: RefObject<HTMLElement | null>;
}

/** A window over the page that keeps the focus inside, and gives it back when it closes. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  actions,
  wide,
  hideTitle,
  initialFocus,
}: DialogProps) {
  const words = useWords("ui");
  const before = useRef<Element>(null);
  return (
    <Primitive.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Primitive.Portal>
        {/* Not the primitive's own cover: that one adds a style element, which our content policy forbids. */}
        <div data-dialog-cover="" className="fixed inset-0 z-40 bg-black/45" />
        <Primitive.Content
          {...(description ? {} : { "aria-describedby": undefined })}
          onOpenAutoFocus={(event) => {
            before.current = document.activeElement;
            if (initialFocus?.current) {
              event.preventDefault();
              initialFocus.current.focus();
            }
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            // What opened it may be gone with what was done here.
            const back = before.current?.isConnected ? before.current : document.getElementById("content");
            (back as HTMLElement | null)?.focus();
          }}
          className={classes(
            "fixed top-[8vh] left-1/2 z-40 flex max-h-[84vh] w-[calc(100vw-1.5rem)] -translate-x-1/2 flex-col rounded-lg border border-line bg-raised shadow-xl",
            wide ? "max-w-4xl" : "max-w-xl",
          )}
        >
          <header className={hideTitle ? "sr-only" : "flex items-start gap-2 border-b py-3 pr-12 pl-4"}>
            <div className="min-w-0 flex-1">
              <Primitive.Title className="text-base font-semibold">{title}</Primitive.Title>
              {description ? (
                <Primitive.Description className="mt-0.5 text-soft">{description}</Primitive.Description>
              ) : null}
            </div>
          </header>
          <div className={classes("min-h-0 flex-1 overflow-y-auto", !hideTitle && "p-4")}>{children}</div>
          {actions ? (
            <footer className="flex flex-wrap justify-end gap-2 border-t px-4 py-3">{actions}</footer>
          ) : null}
          {/* Last, so that the first control of the contents is focused; without a tooltip, which would take Escape. */}
          {hideTitle ? null : (
            <Primitive.Close
              aria-label={words.close}
              title={words.close}
              className="absolute top-2.5 right-2.5 inline-flex size-8 items-center justify-center rounded-md hover:bg-sunken"
            >
              <CrossIcon />
            </Primitive.Close>
          )}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
