import type { ReactNode } from "react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useApprovals } from "../api/approvals";
import { useFeed } from "../api/feed";
import { useWords } from "../i18n";
import { classes } from "../lib/classes";
import { useCommands } from "../lib/commands";
import { useKeys } from "../lib/keys";
import { useWindowTitle } from "../lib/title";
import { IconButton } from "../ui/IconButton";
import {
  BookIcon,
  CogIcon,
  HandIcon,
  KeyboardIcon,
  LayersIcon,
  ListIcon,
  PlusIcon,
  SearchIcon,
} from "../ui/icons";
import { announce } from "../ui/LiveRegion";
import { PreferenceMenus } from "./PreferenceMenus";

// What opens over the page is fetched when it is first opened.
const Palette = lazy(() => import("./Palette"));
const KeysHelp = lazy(() => import("./KeysHelp"));

/** The frame around all pages: skip link, navigation, commands, keys. */
export function Shell({ children }: { children: ReactNode }) {
  const words = useWords("shell");
  const [open, setOpenState] = useState<"palette" | "keys" | null>(null);
  const [mounted, setMounted] = useState<ReadonlySet<string>>(new Set());
  const setOpen = (next: "palette" | "keys" | null) => {
    setOpenState(next);
    setMounted((before) => (next === null || before.has(next) ? before : new Set([...before, next])));
  };
  const [, navigate] = useLocation();
  const waiting = usePendingApprovals();
  useWindowTitle(words.product, waiting);
  const links = useNavLinks(waiting);
  useKeys([
    { keys: "mod+k", label: words.openPalette, group: "everywhere", run: () => setOpen("palette") },
    { keys: "?", label: words.showKeys, group: "everywhere", run: () => setOpen("keys") },
  ]);
  useCommands([
    { id: "new", label: words.newRun, icon: <PlusIcon />, run: () => navigate("/new") },
    ...links.map((link) => ({
      id: link.to,
      label: words.goTo(link.label),
      icon: link.icon,
      run: () => navigate(link.to),
    })),
    { id: "keys", label: words.showKeys, icon: <KeyboardIcon />, run: () => setOpen("keys") },
  ]);
  return (
    <div className="flex min-h-full flex-col">
      <button
        type="button"
        onClick={() => document.getElementById("content")?.focus()}
        className="sr-only z-50 rounded bg-raised px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {words.skip}
      </button>
      <header className="sticky top-0 z-30 border-b bg-surface">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1 px-3 py-1.5">
          <Link href="/runs" className="mr-1 font-semibold text-text no-underline">
            {words.product}
          </Link>
          <nav
            aria-label={words.navigation}
            className="order-last flex w-full gap-0.5 overflow-x-auto md:order-none md:w-auto"
          >
            {links.map((link) => (
              <NavLink key={link.to} {...link} />
            ))}
          </nav>
          <div className="ml-auto flex items-center gap-0.5">
            <Link
              href="/new"
              className="mr-1 inline-flex min-h-8 items-center gap-1 rounded-md bg-accent-strong px-2.5 text-sm font-medium text-on-accent hover:brightness-110"
            >
              <PlusIcon />
              {words.newRun}
            </Link>
            <IconButton label={words.palette} icon={<SearchIcon />} onClick={() => setOpen("palette")} />
            <PreferenceMenus />
            <IconButton label={words.keys} icon={<KeyboardIcon />} onClick={() => setOpen("keys")} />
          </div>
        </div>
      </header>
      <main
        id="content"
        tabIndex={-1}
        className="mx-auto w-full max-w-[110rem] min-w-0 flex-1 px-3 py-3 outline-none sm:px-4"
      >
        {children}
      </main>
      <Suspense fallback={null}>
        {mounted.has("palette") ? <Palette open={open === "palette"} onClose={() => setOpen(null)} /> : null}
        {mounted.has("keys") ? <KeysHelp open={open === "keys"} onClose={() => setOpen(null)} /> : null}
      </Suspense>
    </div>
  );
}

interface NavLinkProps {
  to: string;
  label: string;
  icon: ReactNode;
  badge?: { count: number; label: string };
}

function useNavLinks(waiting: number): NavLinkProps[] {
  const words = useWords("shell");
  const badge = waiting > 0 ? { count: waiting, label: words.waiting(waiting) } : undefined;
  return [
    { to: "/runs", label: words.runs, icon: <ListIcon /> },
    { to: "/approvals", label: words.approvals, icon: <HandIcon />, badge },
    { to: "/sessions", label: words.sessions, icon: <LayersIcon /> },
    { to: "/skills", label: words.skills, icon: <BookIcon /> },
    { to: "/operations", label: words.operations, icon: <CogIcon /> },
  ];
}

function NavLink({ to, label, icon, badge }: NavLinkProps) {
  const [location] = useLocation();
  const current = location === to || location.startsWith(`${to}/`);
  return (
    <Link
      href={to}
      aria-current={current ? "page" : undefined}
      className={classes(
        "inline-flex min-h-8 items-center gap-1.5 rounded-md px-2 whitespace-nowrap no-underline hover:bg-sunken",
        "max-sm:gap-1 max-sm:px-1.5 max-sm:text-[13px] max-sm:[&>svg]:hidden",
        current ? "bg-accent-soft font-medium text-accent" : "text-text",
      )}
    >
      {icon}
      {label}
      {badge ? (
        <span className="rounded-full bg-wait-soft px-1.5 text-xs font-semibold text-wait">
          <span aria-hidden="true">{badge.count}</span>
          <span className="sr-only">{badge.label}</span>
        </span>
      ) : null}
    </Link>
  );
}

/** The number of undecided approval requests; an increase is announced. */
function usePendingApprovals(): number {
  const words = useWords("shell");
  useFeed();
  const { data } = useApprovals();
  const count = data?.filter((approval) => approval.decided === null).length;
  const before = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (count !== undefined && before.current !== undefined && count > before.current) {
      announce(words.newApproval(count));
    }
    before.current = count;
  }, [count, words]);
  return count ?? 0;
}
