"""The words of the page of a run, in the languages it comes in."""

from collections.abc import Mapping
from typing import NamedTuple


class Words(NamedTuple):
    """Every heading and label of the page."""

    tag: str
    run: str
    status: str
    model: str
    began: str
    ended: str
    calls: str
    tokens: str
    cost: str
    profile: str
    task: str
    result: str
    files: str
    story: str
    none: str
    made: str
    answer: str
    call: str
    outcome: str
    failed: str
    asked: str
    decided: str
    void: str
    question: str
    reply: str
    message: str
    skill: str
    plan: str
    state: str
    correction: str
    summary: str
    child: str
    statuses: Mapping[str, str]


WORDS: Mapping[str, Words] = {
    "en": Words(
        tag="en", run="Run", status="Status", model="Model", began="Began", ended="Ended", calls="Tool calls",
        tokens="Tokens (in + out)", cost="Cost", profile="Profile", task="Task", result="Result",
        files="Deliverables", story="What happened", none="–",
        made="Made by Skills Runtime from the log of the run. It shows what the log shows, and runs nothing.",
        answer="Model", call="Call", outcome="Result of", failed="Failed", asked="Approval requested for",
        decided="Approval decided", void="Approval void", question="Question", reply="Answer", message="Message",
        skill="Skill", plan="Plan", state="State", correction="The model was corrected",
        summary="The conversation was summed up", child="Run of its own",
        statuses={
            "pending": "pending", "running": "running", "waiting_for_tool": "waiting for a tool",
            "waiting_for_user": "waiting for somebody", "review_required": "waiting for review",
            "revision_required": "to be revised", "completed": "completed", "failed": "failed",
            "cancelled": "cancelled",
        },
    ),
    "zh": Words(
        tag="zh-CN", run="运行", status="状态", model="模型", began="开始", ended="结束", calls="工具调用",
        tokens="令牌（输入 + 输出）", cost="费用", profile="配置档", task="任务", result="结果",
        files="交付物", story="经过", none="–",
        made="由 Skills Runtime 根据运行日志生成。只显示日志中的内容，不执行任何代码。",
        answer="模型", call="调用", outcome="调用结果：", failed="失败", asked="请求审批：",
        decided="审批决定", void="审批失效", question="提问", reply="回答", message="消息",
        skill="技能", plan="计划", state="状态", correction="要求模型更正",
        summary="对话已压缩", child="子运行",
        statuses={
            "pending": "等待中", "running": "运行中", "waiting_for_tool": "等待工具",
            "waiting_for_user": "等待人工", "review_required": "等待评审", "revision_required": "待修订",
            "completed": "已完成", "failed": "失败", "cancelled": "已取消",
        },
    ),
}  # fmt: skip
