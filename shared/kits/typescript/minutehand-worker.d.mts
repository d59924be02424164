/** The types of `minutehand-worker.mjs`, which says what each is for. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export class Fail extends Error {
  constructor(code: string, message?: string, options?: { retryable?: boolean });
  readonly code: string;
  readonly retryable: boolean;
}

export class HandBack extends Error {
  constructor();
}

export class Cancelled extends Error {
  constructor();
}

export class Refused extends Error {
  constructor(status: number, detail: string);
  readonly status: number;
  readonly detail: string;
}

export interface Effect<Outcome = any> {
  readonly key: string;
  readonly first: boolean;
  readonly outcome: Outcome | null;
  done(outcome?: Outcome): Promise<void>;
}

export interface Context<Payload = any, Checkpoint = any> {
  readonly payload: Payload;
  readonly runId: string;
  readonly jobId: string;
  readonly handler: string;
  readonly attempt: number;
  readonly fence: number;
  readonly idempotencyKey: string;
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  readonly deadline: Date | null;
  readonly cancelled: boolean;
  readonly signal: AbortSignal;
  get checkpoint(): Checkpoint | null;
  set checkpoint(value: NonNullable<Checkpoint>);
  keep(value: NonNullable<Checkpoint>, options?: { now?: boolean }): Promise<void>;
  effect<Outcome = any>(key: string): Promise<Effect<Outcome>>;
  progress(fraction: number, stage?: string): void;
  log(text: unknown): void;
  check(): void;
}

export type Handler<Payload = any, Checkpoint = any> = (ctx: Context<Payload, Checkpoint>) => unknown;

export interface Options {
  url?: string;
  key?: string;
  pool: string;
  name?: string;
  slots?: number;
  leaseSeconds?: number;
  waitSeconds?: number;
  drainSeconds?: number;
  graceSeconds?: number;
  log?: (line: string) => void;
}

export interface Inline<Result = any> {
  result: Result;
  logs: string[];
  checkpoints: Json[];
  progress: [number, string | null][];
  effects: { [key: string]: Json };
}

export class Worker {
  constructor(options: Options);
  readonly pool: string;
  readonly name: string;
  readonly slots: number;
  job<Payload = any, Checkpoint = any>(handler: string, carryOut: Handler<Payload, Checkpoint>): Handler<Payload, Checkpoint>;
  run(): Promise<void>;
  runInline(handler: string, payload?: unknown, options?: { checkpoint?: unknown; attempt?: number; effects?: { [key: string]: unknown } }): Promise<Inline>;
  stop(): void;
}
