import type { timeline as english } from "../en/timeline";

/** Texts of the timeline of a run, in Chinese. */
export const timeline = {
  title: "时间线",
  empty: "尚无记录",
  legend: "条形含义",
  kinds: { model: "模型", tool: "工具", waiting: "等待人工" },
  quiet: "已缩短的空闲时间",
  quietFor: (duration: string) => `空闲 ${duration}，已缩短`,
  model: (name: string) => `模型 ${name}`,
  question: "向人提问",
  bar: (name: string, duration: string, state: string) => `${name}：${duration}，${state}`,
  waitingBar: (name: string, duration: string, state: string) => `${name}，等待人工：${duration}，${state}`,
  states: {
    running: "进行中",
    done: "完成",
    failed: "失败",
    approved: "已批准",
    denied: "已拒绝",
    answered: "已回答",
    stopped: "未完成",
  },
  move: "沿时间移动",
  zoomIn: "放大",
  zoomOut: "缩小",
  zoomAll: "显示全部",
  zoom: (times: string) => `缩放 ${times} 倍`,
} satisfies typeof english;
