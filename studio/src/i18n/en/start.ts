/** Texts of the form that starts a run. */
export const start = {
  title: "New run",
  task: "Task",
  taskHint: "Describe the result you want. Type $ to mention a skill.",
  taskExample: "Summarize README.md in three sentences, then list what is missing.",
  taskMissing: "Describe the task.",
  mentions: "Matching skills",
  mentionsFound: (count: number) =>
    count === 1
      ? "1 skill matches; press Enter to choose it"
      : `${count} skills match; use the arrow keys and Enter to choose one`,
  skills: "Skills for this task",
  routeIdle: "As you type, the matching skills appear here with the reason.",
  routeNone: (considered: number) =>
    considered === 0
      ? "No skills in this workspace yet."
      : considered === 1
        ? "The only skill in this workspace does not match this task."
        : `None of the ${considered} skills matches this task.`,
  decidedBy: {
    rule: "A rule selects these skills; the model sees them first.",
    model: "No rule selects a skill; the model chooses among these suggestions.",
  },
  rules: { mention: "Mentioned", trigger: "Trigger", path: "File", words: "Keyword match" } as Record<
    string,
    string
  >,
  reasons: {
    mention: (first) => `the task mentions ${first}`,
    trigger: (first) => `the task contains the trigger “${first}”`,
    path: (first, second) => `${first} matches its file pattern ${second}`,
    words: (first) => `keywords: ${first}`,
  } as Record<string, (first: string, second: string) => string>,
  give: "Load at start",
  giveNamed: (name: string) => `Load ${name} at start`,
  givenAnyway: "Loaded at start",
  how: "Settings",
  model: "Model",
  modelHint: (name: string) => `Default: ${name}`,
  workspace: "Workspace",
  workspaces: { shared: "Your files", isolated: "Its own directory" } as Record<string, string>,
  workspaceHints: {
    shared: "Tools work in the workspace itself.",
    isolated: "Tools work in a directory of the run; your files do not change.",
  } as Record<string, string>,
  workspaceRoot: "Workspace",
  sandbox: "Sandbox",
  profiles: { dev: "Development", balanced: "Balanced", prod: "Production" } as Record<string, string>,
  profileHints: {
    dev: "Fewest restrictions, for work on your own machine.",
    balanced: "Stricter; denies more.",
    prod: "Strictest; denies everything it cannot guarantee.",
  } as Record<string, string>,
  policy: "When no rule matches",
  modes: { auto: "Automatic", ask: "Ask me", allow: "Allow", deny: "Deny" } as Record<string, string>,
  modeHints: {
    auto: "Runs what the sandbox contains and can be undone; asks about the rest.",
    ask: "Asks about every call that does more than read.",
    allow: "Runs everything but high-risk calls, which ask.",
    deny: "Refuses every call.",
  } as Record<string, string>,
  isDefault: (name: string) => `${name} (default)`,
  budget: "Budget",
  limits: {
    max_steps: "Steps",
    max_wall_time_sec: "Time (seconds)",
    max_tool_calls: "Tool calls",
    max_tokens: "Tokens",
    max_cost_usd: "Cost (US$)",
  },
  unlimited: "no limit",
  noLimit: "No limit here",
  atMost: (most: string) => `At most ${most}`,
  limitErrors: {
    number: "Enter a number.",
    whole: "Enter a whole number.",
    positive: "Enter a number above zero.",
  },
  onLimit: "When the budget is used up",
  onLimits: {
    same: "As configured",
    park: "Wait for more",
    fail: "Fail",
  } as Record<string, string>,
  review: "Review the result before the run completes",
  start: "Start",
  noModel: "No model configured",
  noModelHint: "A run needs a model. The offline demo does not.",
  configureModel: "Configure a model",
  tryDemo: "Try the offline demo",
};
