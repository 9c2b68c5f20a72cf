import { lazy, type ReactNode, Suspense } from "react";
import { Redirect, useLocation } from "wouter";
import { useWords } from "../../i18n";
import { Page } from "../../ui/Page";
import { Skeleton } from "../../ui/Skeleton";
import { Tabs } from "../../ui/Tabs";

const ModelTab = lazy(() => import("./model/ModelTab"));
const KeysTab = lazy(() => import("./keys/KeysTab"));
const SandboxTab = lazy(() => import("./sandbox/SandboxTab"));
const PolicyTab = lazy(() => import("./policy/PolicyTab"));
const ConfigurationTab = lazy(() => import("./configuration/ConfigurationTab"));
const StorageTab = lazy(() => import("./storage/StorageTab"));

const TABS = {
  model: <ModelTab />,
  keys: <KeysTab />,
  sandbox: <SandboxTab />,
  policy: <PolicyTab />,
  configuration: <ConfigurationTab />,
  storage: <StorageTab />,
};

type Name = keyof typeof TABS;

/** Model, API keys, sandbox, policy, configuration and storage of the server; each tab has its own URL. */
export function Operations({ tab }: { tab: string }) {
  const words = useWords("operations");
  const [, navigate] = useLocation();
  if (!Object.hasOwn(TABS, tab)) {
    return <Redirect to="/operations/model" replace />;
  }
  const name = tab as Name;
  return (
    <Page title={`${words.tabs[name]} · ${words.title}`} heading={words.title}>
      <Tabs<Name>
        label={words.title}
        value={name}
        onChange={(next) => navigate(`/operations/${next}`)}
        tabs={(Object.keys(TABS) as Name[]).map((value) => ({
          value,
          label: words.tabs[value],
          content: value === name ? <TabFallback>{TABS[value]}</TabFallback> : null,
        }))}
      />
    </Page>
  );
}

function TabFallback({ children }: { children: ReactNode }) {
  return <Suspense fallback={<Skeleton />}>{children}</Suspense>;
}
