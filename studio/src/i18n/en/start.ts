/** Texts of the form that starts a run. */
export const start = {
  title: "New run",
  task: "Task",
  taskHint: "Say what you want to have. Type $ to name a skill.",
  taskExample: "Summarise README.md in three sentences, then list what is missing.",
  taskMissing: "Say what is to be done.",
  mentions: "Skills that fit",
  mentionsFound: (count: number) =>
    count === 1
      ? "1 skill fits; arrows and Enter choose it"
      : `${count} skills fit; arrows and Enter choose one`,
  skills: "Skills for this task",
  routeIdle: "Which skills would be chosen, and why, is shown here as you type.",
  routeNone: (considered: number) =>
    considered === 0
      ? "There are no skills in this workspace yet."
      : considered === 1
        ? "The one skill of this workspace does not answer to this task."
        : `None of the ${considered} skills answers to this task.`,
  decidedBy: {
    rule: "The task or the skills themselves settle this; the model sees these first.",
    model: "Nothing settles this; the model decides among these suggestions.",
  },
  rules: { mention: "Mentioned", trigger: "Trigger", path: "File", words: "Words" } as Record<string, string>,
  reasons: {
    mention: (first) => `the task mentions it as ${first}`,
    trigger: (first) => `the task says “${first}”, which it declares as a trigger`,
    path: (first, second) => `${first} is one of the files it is for: ${second}`,
    words: (first) => `it answers to: ${first}`,
  } as Record<string, (first: string, second: string) => string>,
  give: "Give it from the start",
  giveNamed: (name: string) => `Give ${name} from the start`,
  givenAnyway: "Given from the start",
  how: "How it works",
  model: "Model",
  modelHint: (name: string) => `Empty: ${name}`,
  workspace: "Workspace",
  workspaces: { shared: "Your files", isolated: "Its own directory" } as Record<string, string>,
  workspaceHints: {
    shared: "Tools work in the workspace itself.",
    isolated: "Tools work in a directory of the run; your files stay as they are.",
  } as Record<string, string>,
  workspaceRoot: "Workspace",
  sandbox: "Sandbox",
  profiles: { dev: "Development", balanced: "Balanced", prod: "Production" } as Record<string, string>,
  profileHints: {
    dev: "The widest fence, for work on your own machine.",
    balanced: "A narrower fence; more is refused.",
    prod: "The narrowest fence; what it cannot promise is refused.",
  } as Record<string, string>,
  policy: "What no rule decides",
  modes: { allow: "Is allowed", ask: "Asks you", deny: "Is denied" } as Record<string, string>,
  modeHints: {
    allow: "Calls that no rule names are executed.",
    ask: "Calls that no rule names wait for your approval.",
    deny: "Only calls that a rule allows are executed.",
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
  noLimit: "Not limited here",
  atMost: (most: string) => `At most ${most}`,
  limitErrors: {
    number: "This is not a number.",
    whole: "Only whole numbers.",
    positive: "More than nought.",
  },
  onLimit: "When the budget is used up",
  onLimits: {
    same: "As configured",
    park: "Wait for more",
    fail: "Fail",
  } as Record<string, string>,
  review: "I want to accept the result before the run is complete",
  start: "Start",
  noModel: "No model can be used yet",
  noModelHint: "A run needs a model to think with. The offline demo needs none.",
  configureModel: "Configure a model",
  tryDemo: "Try the offline demo",
};
