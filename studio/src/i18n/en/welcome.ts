/** Texts of the first visit and the demo. */
export const welcome = {
  title: "Welcome",
  what: "Skills Runtime lets a model work on a task with tools and skills, on your own machine.",
  how: "Everything runs in a sandbox and is recorded in a tamper-evident log.",
  trust: "Watch runs here, approve calls that your rules ask about, and open the results.",
  demo: "Offline demo",
  scripted: "Scripted model",
  scriptedHint:
    "The answers of the model are scripted, so you need no key and no network. The skill, the sandbox, the approval and the report are real.",
  step1: "The run starts",
  step1Hint: "It makes a plan and asks to execute a skill that measures this machine.",
  step2: "You decide",
  step2Hint: "The skill is a program, so the run waits until you approve it.",
  step3: "You open the result",
  step3Hint: "The run writes a report, which you can open and check.",
  start: "Start the demo",
  own: "Use your own model",
  ownHint: "Your own tasks need a model: any service with an OpenAI-compatible chat API.",
  ready: (model: string) => `Model ${model} is configured.`,
  configure: "Configure the model",
  startRun: "Start a run",
};
