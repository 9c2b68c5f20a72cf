import type { replay as english } from "../en/replay";

/** Texts of the replay of a run, in Chinese. */
export const replay = {
  title: "回放",
  position: "运行中的位置",
  at: (seq: number, type: string, elapsed: string) => `事件 ${seq}，${type}，开始后 ${elapsed}`,
  of: (at: string, all: string) => `事件 ${at} / ${all}`,
  elapsed: (time: string) => `开始后 ${time}`,
  play: "播放",
  pause: "暂停",
  speed: "速度",
  times: (speed: number) => `${speed} 倍`,
  first: "到开头",
  last: "到末尾",
} satisfies typeof english;
