import * as Primitive from "@radix-ui/react-tooltip";
import type { ReactNode } from "react";

/** Says more about one element when it is pointed at or focused; never the only place of a fact. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{children}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          sideOffset={5}
          collisionPadding={8}
          className="z-50 max-w-80 rounded-md bg-text px-2 py-1 text-xs text-page shadow-md"
        >
          {text}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** Stands once around the app. */
export function TooltipProvider({ children }: { children: ReactNode }) {
  return <Primitive.Provider delayDuration={400}>{children}</Primitive.Provider>;
}
