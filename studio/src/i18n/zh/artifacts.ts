import type { artifacts as english } from "../en/artifacts";

/** Texts of the files of a run, in Chinese. */
export const artifacts = {
  none: "没有文件",
  noneYet: "本次运行尚未产生文件。",
  noneEver: "本次运行没有产生文件。",
  notFinal: "运行仍在进行，文件可能还会变化。",
  roles: {
    deliverable: "交付物",
    workspace: "工作区",
    archive: "归档",
    execution: "技能执行",
  } as Record<string, string>,
  choose: "选择一个文件查看。",
  more: (count: number) => `再显示 ${count} 个`,
  previewOf: (name: string) => `${name} 的预览`,
  imageOf: (name: string) => `图片 ${name}`,
  hash: "SHA-256",
  copyHash: "复制哈希值",
  download: "下载",
  downloadFile: (name: string) => `下载 ${name}`,
  notSaved: "无法获取该文件",
  tooLarge: (size: string, most: string) => `文件过大（${size}，上限 ${most}），请下载查看。`,
  beginning: (shown: string, size: string) => `仅显示前 ${shown}，共 ${size}；下载可查看全部。`,
  firstRows: (count: string) => `仅显示前 ${count} 行；下载可查看全部。`,
  emptyFile: "文件为空。",
  noPreview: (type: string) => `类型为 ${type} 的文件只能下载。`,
  brokenImage: "浏览器无法显示此图片。",
  needsLink: "使用 API 密钥时此类文件只能下载；请通过链接打开 Studio 以在此查看。",
  inert: "隔离显示：无脚本、无网络、无法访问本页面。",
  inertPdf: "由浏览器的查看器显示。",
} satisfies typeof english;
