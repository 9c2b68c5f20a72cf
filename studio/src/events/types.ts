/** One line of a log. */
export interface LogEvent<Type extends string = string, Payload = Readonly<Record<string, unknown>>> {
  seq: number;
  type: Type;
  timestamp: string;
  run_id: string;
  payload: Payload;
  turn_id?: string | null;
  step_id?: string | null;
  epoch?: number;
  mac?: string;
}

/** Plain data of a tool or a model. */
export type Data = Readonly<Record<string, unknown>>;

/** What each kind of event says; fields that equal their default are absent. */
export interface Payloads {
  run_created: {
    session_id: string;
    task_id: string;
    profile_id: string;
    config_fingerprint: string;
    kind?: string;
    attempt?: number;
    parent_run_id?: string | null;
    required_deliverables?: string[];
    fork?: { run_id: string; seq: number } | null;
  };
  sandbox_created: { workspace_mode: string };
  run_state_changed: { from: string; to: string; reason?: string };
  run_started: { task: string; workspace_root?: string; config_summary?: Data; resume?: Data };
  run_adopted: { previous_key_id: string; key_id: string };
  log_repaired: { reason: string; offset: number; removed: { size: number } };
  artifact_manifest_written: { artifacts: number; complete?: boolean };
  run_waiting_human: { message: string; tool?: string; call_id?: string; error_kind?: string };
  run_completed: { final_output: string; artifacts?: string[]; metadata?: Data };
  run_failed: { error_kind: string; message: string; retryable?: boolean; details?: Data };
  run_cancelled: { message: string };
  child_run_started: { call_id: string; child_run_id: string; message?: string; profile_id?: string };
  child_run_finished: {
    child_run_id: string;
    status: string;
    input_tokens?: number;
    output_tokens?: number;
    cost_usd?: number | null;
    tool_calls?: number;
  };
  llm_request_started: { model: string; purpose?: string; messages_count?: number; tools_count?: number };
  llm_retry_scheduled: {
    error_kind: string;
    attempt: number;
    max_retries: number;
    delay_ms: number;
    message?: string;
  };
  llm_response_delta: { delta_type: string; text?: string };
  llm_response_finished: { finish_reason: string; text_chars?: number; calls?: string[] };
  llm_usage: {
    model: string;
    input_tokens?: number;
    output_tokens?: number;
    cached_tokens?: number;
    cost_usd?: number | null;
  };
  context_length_exceeded: { mode: string; compactions?: number };
  context_recovery_decided: { mode: string; decision: string };
  compaction_started: { reason: string };
  compaction_failed: { reason: string; error: string };
  context_compacted: { summary: string; kept_messages: number; reason?: string; count?: number };
  output_rejected: { message: string };
  budget_increased: { reason: string; extra_steps?: number; extra_wall_time_sec?: number };
  tool_call_requested: {
    call_id: string;
    tool: string;
    name: string;
    arguments?: Data;
    arguments_blob?: string | null;
    arguments_valid?: boolean;
    raw_arguments_error?: string | null;
  };
  tool_call_started: { call_id: string; tool: string; effect?: string };
  tool_call_finished: {
    call_id: string;
    tool: string;
    result: Data;
    result_blob?: string | null;
    size?: number | null;
  };
  approval_requested: {
    approval_key: string;
    tool: string;
    call_id?: string;
    summary?: string;
    request?: Data;
    approval_id?: string;
    rule?: string;
    risk?: Record<string, string>;
    expires_at?: string;
  };
  approval_decided: {
    approval_key: string;
    decision: string;
    reason?: string;
    call_id?: string;
    decided_by?: string;
    approval_id?: string;
    note?: string;
    rule?: Data;
    arguments_blob?: string | null;
  };
  approval_refused: {
    reason: string;
    message?: string;
    approval_id?: string;
    approval_key?: string;
    call_id?: string;
  };
  file_operation: {
    op: string;
    path: string;
    ok: boolean;
    size?: number | null;
    sha256?: string | null;
    before_sha256?: string | null;
    error?: string | null;
    call_id?: string | null;
  };
  network_decision: {
    call_id: string;
    number: number;
    stage: string;
    verdict: string;
    host: string;
    port: number;
    protocol: string;
    by?: string;
    reason?: string;
    rule?: string;
    bytes_up?: number;
    bytes_down?: number;
  };
  plan_updated: { call_id: string; plan: { step?: string; status?: string }[]; explanation?: string };
  human_request: {
    call_id: string;
    question?: string;
    choices?: string[];
    context?: string;
    questions?: Data[];
  };
  human_response: { call_id: string; answer?: string; answers?: Record<string, string> };
  inbox_received: { message_id: string; position: number; kind: string; body?: Data };
  history_loaded: { messages: { role?: string; content?: string }[]; runs?: string[] };
  images_attached: { images: Data[] };
  skill_injected: {
    skill_name: string;
    skill_path?: string;
    mention_text?: string;
    source?: string;
    text_blob?: string | null;
    size?: number;
    arguments?: string;
  };
  skill_unloaded: { mention_text: string; reason?: string };
  skill_injection_skipped: { skill_name: string; reason?: string; missing_env_vars?: string[] };
  skill_routed: Record<"asked", string> & {
    decided_by?: string;
    considered?: number;
    choices?: { mention: string; rule: string; score?: number; reason?: string }[];
  };
  skill_catalog_offered: { level: string; offered: number; omitted?: number; tokens?: number };
  env_var_required: { env_var: string; skill_name?: string };
  env_var_set: { env_var: string; skill_name?: string };
}

/** The kinds of events that are understood; others are kept and shown as they are. */
export type TypedEventName = keyof Payloads;

/** An event of one kind that is understood. */
export type TypedEvent<Type extends TypedEventName> = LogEvent<Type, Payloads[Type]>;

/** Any event that is understood, told apart by `type`. */
export type AnyTypedEvent = { [Type in TypedEventName]: TypedEvent<Type> }[TypedEventName];
