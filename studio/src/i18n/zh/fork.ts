import type { fork as english } from "../en/fork";

/** Texts of the forking of a run, in Chinese. */
export const fork = {
  title: (seq: number) => `从事件 ${seq} 分叉`,
  description: "新的运行从此处继续，当前运行保持不变。",
  message: "最后一条消息",
  replacesTask: "此时模型尚未回答：修改后的文本将取代任务。",
  followsTask: "模型已回答过：修改后的文本将作为下一条消息；不修改则不添加任何内容。",
  model: "模型",
  modelHint: "留空则使用相同模型",
  samePolicy: "与本次运行相同",
  what: "接下来会发生什么",
  reusedCalls: (count: number, shown: string) =>
    count === 0 ? "到此为止尚未进行任何调用。" : `保留 ${shown} 个已完成调用及其结果，不会再次执行。`,
  executed: "已被请求，将会执行。",
  executedAgain: "已经开始，将再次执行。",
  continues: "模型将从此处继续。",
  askedAfter: "随后模型继续。",
  askedAnew: "正在接收的回答将被丢弃，并重新询问模型。",
  sharedFiles: "文件不会回滚：分叉在工作区的当前状态上继续。",
  isolatedFiles: "文件不会复制：分叉从自己的空工作区开始。",
  start: "开始分叉",
  cancel: "取消",
  done: "分叉已开始",
  compare: "与被分叉的运行对比",
  children: (count: number) => `本次运行有 ${count} 个分叉：`,
} satisfies typeof english;
