/** Texts of the first visit and the demo. */
export const welcome = {
  title: "Welcome",
  what: "Skills Runtime lets a model work on a task with tools and skills, on your own machine.",
  how: "Everything it does runs in a sandbox and is written into a log that cannot be changed unnoticed.",
  trust: "Here you watch it work, approve what your rules do not allow by themselves, and open what it made.",
  demo: "Offline demo",
  scripted: "Scripted model",
  scriptedHint:
    "What the model says was written beforehand, so no key and no network is needed. The skill, the sandbox, the approval and the report are real.",
  step1: "It works",
  step1Hint: "The run makes a plan and wants to execute a skill that measures this machine.",
  step2: "You decide",
  step2Hint: "The skill is a program, so the run waits until you approve it.",
  step3: "You open the result",
  step3Hint: "The run writes a report, which you can open and check.",
  start: "Start the demo",
  own: "With a model of your own",
  ownHint: "For tasks of your own a model is needed: any service that speaks the OpenAI chat interface.",
  ready: (model: string) => `The model ${model} is configured.`,
  configure: "Configure the model",
  startRun: "Start a run",
};
