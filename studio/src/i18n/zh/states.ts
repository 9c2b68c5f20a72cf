import labels from "@messages/zh/states.json";
import type { states as english } from "../en/states";

/** Words for the states of runs, calls and connections, in Chinese. */
export const states = {
  run: labels.run as Record<string, string>,
  call: {
    requested: "已提出",
    waiting: "等待你处理",
    denied: "已拒绝",
    running: "执行中",
    ok: "完成",
    failed: "失败",
    abandoned: "未完成",
  } as Record<string, string>,
  connection: {
    idle: "未连接",
    connecting: "正在连接",
    live: "实时",
    waiting: "连接中断，正在重试",
    ended: "事件已全部加载",
    failed: "未连接",
  } as Record<string, string>,
} satisfies typeof english;
