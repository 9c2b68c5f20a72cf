import type { sandbox as english } from "../en/sandbox";

/** Texts of what a sandbox lets a command read, write and reach, in Chinese. */
export const sandbox = {
  writes: "可写入",
  reads: "可读取",
  workspace: "工作区",
  temporary: (path: string) => `专用的 ${path}，结束后清除`,
  writesNothing: "无",
  alsoReads: "可写入的内容",
  system: "系统程序",
  more: (count: number) => `另有 ${count} 项`,
  protectedPaths: (count: number) => `${count} 项受保护`,
  hiddenPaths: (count: number) => `${count} 项已隐藏`,
  systemPaths: (count: number) => `${count} 项系统路径`,
  cannotChange: "不可修改或新建",
  cannotRead: "不可读取或修改",
  systemRead: "系统路径，只读",
  hosts: "可访问的主机",
  privateHosts: "也可在专用网络中",
  deniedHosts: "始终禁止",
  unknownAsks: "访问其他主机时会询问",
} satisfies typeof english;
