import codes from "@messages/zh/codes.json";
import { approvals } from "./approvals";
import { artifacts } from "./artifacts";
import { compare } from "./compare";
import { details } from "./details";
import { execute } from "./execute";
import { fork } from "./fork";
import { messages } from "./messages";
import { model } from "./model";
import { operations } from "./operations";
import { replay } from "./replay";
import { run } from "./run";
import { runs } from "./runs";
import { sandbox } from "./sandbox";
import { sessions } from "./sessions";
import { shell } from "./shell";
import { skills } from "./skills";
import { start } from "./start";
import { states } from "./states";
import { timeline } from "./timeline";
import { ui } from "./ui";
import { welcome } from "./welcome";

/** All texts in this language, by the name of their dictionary. */
export const words = {
  approvals,
  artifacts,
  compare,
  details,
  execute,
  sandbox,
  fork,
  messages,
  model,
  operations,
  replay,
  run,
  runs,
  sessions,
  shell,
  skills,
  start,
  states,
  timeline,
  ui,
  welcome,
};

export { codes };
