import type { welcome as english } from "../en/welcome";

/** Texts of the first visit and the demo, in Chinese. */
export const welcome = {
  title: "欢迎",
  what: "Skills Runtime 让模型在你自己的机器上，用工具和技能完成任务。",
  how: "它做的一切都在沙箱中执行，并写入无法悄悄篡改的日志。",
  trust: "你可以在这里看它工作，批准规则未自动允许的操作，并打开它的成果。",
  demo: "离线演示",
  scripted: "脚本模型",
  scriptedHint: "模型的回答是预先写好的，因此不需要密钥和网络。技能、沙箱、审批和报告都是真实的。",
  step1: "它开始工作",
  step1Hint: "运行先列出计划，然后要执行一个测量这台机器的技能。",
  step2: "由你决定",
  step2Hint: "技能是程序，所以运行会等待你的批准。",
  step3: "打开成果",
  step3Hint: "运行写出一份报告，你可以打开查看。",
  start: "开始演示",
  own: "使用你自己的模型",
  ownHint: "完成你自己的任务需要模型：任何支持 OpenAI 聊天接口的服务都可以。",
  ready: (model: string) => `已配置模型 ${model}。`,
  configure: "配置模型",
  startRun: "新建运行",
} satisfies typeof english;
