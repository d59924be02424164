/**
 * The alarms. Each is named as its section under "Runbooks" in docs/operations.md, and as its rule in prometheus/alerts.yaml; a test
 * compares the three. Why each has its threshold: docs/decisions/0042-alarms.md.
 */
import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  AlarmRule,
  AlarmState,
  AnomalyDetectionAlarm,
  ComparisonOperator,
  CompositeAlarm,
  IAlarm,
  IAlarmAction,
  IAlarmRule,
  IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { Measured, combined, named, summed } from './measured';
import { Archiver, FUNCTIONS, Lane, WatchedStack } from './watched-stack';

/** Somebody is woken by a page; a ticket waits for the morning. */
export type Severity = 'page' | 'ticket';

export interface AlarmsProps {
  readonly stack: WatchedStack;
  readonly actions: Record<Severity, readonly IAlarmAction[]>;
}

interface Condition {
  readonly metric: IMetric;
  readonly above: number;
  /** Periods that are looked at, and how many of them must be bad; one unless said. */
  readonly of?: number;
  readonly bad?: number;
  readonly missing?: TreatMissingData;
  readonly comparison?: ComparisonOperator;
}

/** Of a thousand starts, one may be later than this many seconds. */
const LATE_AFTER = 5;
const BUDGET_PERCENT = 0.1;
/** All functions that there may be. */
const WHEREVER = [...FUNCTIONS, 'archiver'] as const;
const minutes = (count: number): Duration => Duration.minutes(count);

export class Alarms extends Construct {
  readonly alarms: IAlarm[] = [];
  private readonly measured: Measured;

  constructor(scope: Construct, id: string, private readonly props: AlarmsProps) {
    super(scope, id);
    this.measured = new Measured(props.stack);
    this.starts();
    this.sweeps();
    this.queues();
    this.outcomes();
    this.workers();
    this.limits();
    this.functions();
  }

  private starts(): void {
    const { measured } = this;
    const late = measured.worstStart('p99', minutes(1));
    this.alarm('LateStarts', 'page', `One start in a hundred is more than ${LATE_AFTER} s late`, { metric: late, above: LATE_AFTER, of: 5, bad: 5 });
    this.budget();
    const began = measured.of('run_lag_seconds', 'Maximum', minutes(1), 'executor', 'critical');
    const critical = this.props.stack.lanes.filter(({ priority }) => priority === 'critical');
    const waits = ['worker_wait_seconds', 'unattended_seconds'].map((name) => measured.of(name, 'Maximum', minutes(1), 'executor', 'critical'));
    this.whole('CriticalWaits', 'page', 'A critical run began more than 30 s late, or nobody takes it', [
      this.part('CriticalWaits', 'BeganLate', { metric: began, above: 30, of: 5, bad: 1 }),
      this.part('CriticalWaits', 'AwaitsWorker', { metric: longest('seconds that it has waited', waits, minutes(1)), above: 30, of: 5, bad: 1 }),
      this.part('CriticalWaits', 'NotTaken', { metric: untaken(namesOf(critical)), above: 0, ...untakenFor(2) }),
    ]);
    const missed = measured.total('skipped_total.missed', minutes(5));
    this.alarm('OccurrencesMissed', 'page', 'Occurrences were missed', { metric: missed, above: 0 });
  }

  /**
   * The budget of late starts burns so fast that a month's would be gone in two days, or in five: seen in a long window, so that it matters,
   * and in a short one, so that it still goes on. An alarm has one period, so that each window is one, and only their sum is told.
   */
  private budget(): void {
    const window = (long: number, short: number, rate: number) =>
      AlarmRule.allOf(
        ...[long, short].map((span) => {
          const metric = this.measured.lateStarts(LATE_AFTER, minutes(span));
          return this.part('StartBudgetBurns', `Burn${rate * 10}In${span}Minutes`, { metric, above: rate * BUDGET_PERCENT });
        }),
      );
    const what = 'More starts are late than one in a thousand, and fast';
    this.whole('StartBudgetBurns', 'page', what, [window(60, 5, 14.4), window(360, 30, 6)]);
  }

  /**
   * An age is measured by a pass: of shards that were handed out to nobody only their queue tells. What is in it expires after a quarter of an hour, without
   * becoming a dead letter, so seven are looked at; and where each shard is the tick's own it is empty. Passes that are late by minutes are as far apart:
   * two of seven minutes have one each, up to five minutes apart, behind which TelemetryMissing rings.
   */
  private sweeps(): void {
    const { measured } = this;
    const age = measured.of('sweep_age_seconds', 'Maximum', minutes(1), 'sweeper');
    const failed = measured.of('sweeps_failed_total', 'Sum', minutes(1), 'sweeper');
    this.whole('SweepBehind', 'page', 'Passes over a shard are more than two minutes apart, or fail minute after minute, or nobody sweeps the shards that were handed out', [
      this.part('SweepBehind', 'Late', { metric: age, above: 120, of: 7, bad: 2 }),
      this.part('SweepBehind', 'Fails', { metric: failed, above: 0, of: 7, bad: 5 }),
      this.part('SweepBehind', 'NotTaken', { metric: untaken([this.props.stack.sweepsQueue]), above: 0, ...untakenFor(5) }),
    ]);
    const passes = measured.of('sweep_age_seconds', 'SampleCount', minutes(1), 'sweeper');
    this.alarm('TelemetryMissing', 'page', 'The sweeper has measured nothing for five minutes', {
      metric: passes,
      above: 1,
      of: 5,
      bad: 5,
      comparison: ComparisonOperator.LESS_THAN_THRESHOLD,
      missing: this.props.stack.silence,
    });
    this.switch(this.props.stack.switchGroup);
  }

  /**
   * Counted by EventBridge Scheduler, so that it rings where no function starts. It fires once for each time that it was pushed: the alarm stays
   * for longer than it takes to fire again, where only the switch is left to wake the sweeper. One that was deleted, or that no pass may push any
   * more, fires never again: so that is told as well.
   */
  private switch(group: string | undefined): void {
    if (group === undefined) {
      return;
    }
    const unpushed = this.measured.of('switch_pushes_total.failed', 'Sum', minutes(5), 'sweeper');
    this.alarm('SwitchNotPushed', 'ticket', 'Passes of the sweeper cannot push the dead man\'s switch', { metric: unpushed, above: 0, of: 4, bad: 3 });
    const dimensionsMap = { ScheduleGroup: group };
    const fired = new Metric({ namespace: 'AWS/Scheduler', metricName: 'InvocationAttemptCount', dimensionsMap, statistic: 'Sum', period: minutes(1) });
    this.alarm('SweepsStopped', 'page', 'For minutes no pass of the sweep has ended well, and the dead man\'s switch fired', { metric: fired, above: 0, of: 20, bad: 1 });
  }

  /**
   * A hint is sent up to five minutes ahead, and is in its queue until its call has ended: so long nothing is wrong. Behind that, and rising. And
   * sooner where hints can be taken and nobody takes any: then no run begins, so that no start is late. All hands of long calls may be taken for as long as
   * a call may last, fourteen minutes, in which nothing is received and nothing is wrong.
   */
  private queues(): void {
    const parts = [false, true].flatMap((long) => {
      const lanes = this.props.stack.lanes.filter((lane) => lane.long === long);
      const limit = long ? 300 + 870 + 330 : 300 + 90 + 210;
      const word = long ? 'Long' : 'Short';
      return [
        this.part('QueueBehind', word, { metric: older(lanes, limit), above: 0, of: 2, bad: 2 }),
        this.part('QueueBehind', `${word}NotTaken`, { metric: untaken(namesOf(lanes)), above: 0, ...untakenFor(long ? 16 : 5) }),
      ];
    });
    this.whole('QueueBehind', 'page', 'What a queue holds is older than it may be, and grows older, or nobody takes it', parts);
    const dead = this.props.stack.deadLetterQueues.map((name) => queue('ApproximateNumberOfMessagesVisible', name, 'Maximum', minutes(5)));
    this.alarm('HintsGivenUp', 'ticket', 'Hints were delivered five times and not used up', { metric: combined(dead, minutes(5), 'in dead letter queues'), above: 0 });
  }

  private outcomes(): void {
    const { measured } = this;
    this.alarm('DeadLetters', 'ticket', 'Runs failed for good, and nobody has seen to them', { metric: measured.total('dead_letters_total', minutes(15)), above: 0 });
    this.alarm('SlaMissed', 'ticket', 'Runs had not ended by when they were to have', { metric: measured.total('sla_missed_total', minutes(15)), above: 0 });
    // A sweep's look alone finds a stall.
    this.alarm('WorkflowsStalled', 'ticket', 'A workflow has made no progress for 15 minutes, and waits for nothing', { metric: measured.total('workflow_stalls_total', minutes(15), ['sweeper']), above: 0 });
    // Of a receiver that does not answer the last try has timed out. A message is always of high priority.
    const unheard = ['failed', 'timed_out'].flatMap((word) => {
      const name = `notifications_total.${word}`;
      return [measured.of(name, 'Sum', minutes(15), 'api'), measured.of(name, 'Sum', minutes(15), 'sweeper'), measured.of(name, 'Sum', minutes(15), 'executor', 'high')];
    });
    this.alarm('NotificationsFailing', 'ticket', 'Messages of notifications were given up', { metric: combined(unheard, minutes(15), 'given up'), above: 0 });
    // What workers carry out ends in the API. In three parts, as CloudWatch learns what is usual of ten metrics and expressions together at most.
    const called = (word: string) => measured.byPriority(`runs_total.${word}`, 'Sum', minutes(60));
    const pulled = (word: string) => [measured.of(`runs_total.${word}`, 'Sum', minutes(60), 'api')];
    this.whole('FailuresUnusual', 'ticket', 'More runs fail than in the weeks before', [
      this.unusual('Called', called('failed'), called('succeeded')),
      this.unusual('Unanswered', called('timed_out'), called('succeeded')),
      this.unusual('Pulled', [...pulled('failed'), ...pulled('timed_out')], pulled('succeeded')),
    ]);
  }

  /** Where none failed for weeks two are unusual, and nothing to look at: so a share is asked for as well. */
  private unusual(whose: string, failed: readonly IMetric[], succeeded: readonly IMetric[]): IAlarmRule {
    const share = failedOf(failed, succeeded, minutes(60));
    const band = this.band(`FailuresUnusual${whose}Band`, `FailuresUnusual-${whose}Band`, partOf('FailuresUnusual'), share, 2);
    const some = this.part('FailuresUnusual', `${whose}Some`, { metric: share, above: 5, of: 2, bad: 2 });
    return AlarmRule.allOf(AlarmRule.fromAlarm(band, AlarmState.ALARM), some);
  }

  private workers(): void {
    const { measured } = this;
    // A run that waits is looked at up to an hour after the last time: two hours hold one of the looks, at any time. Who is back within three minutes was
    // restarted.
    const waited = (label: string, name: string) => longest(label, measured.byPriority(name, 'Maximum', minutes(5)), minutes(5));
    const unattended = waited('seconds that nobody was there', 'unattended_seconds');
    this.alarm('PoolUnattended', 'page', 'Runs wait for workers, and no worker of their pool is alive that takes them', { metric: unattended, above: 180, of: 25, bad: 1 });
    const behind = waited('seconds that a run has waited for a worker', 'worker_wait_seconds');
    this.alarm('PoolBehind', 'ticket', 'Runs have waited for a worker for more than five minutes, though some are alive', { metric: behind, above: 300, of: 25, bad: 1 });
    const lost = measured.total('heartbeats_lost_total', minutes(15));
    this.alarm('HeartbeatsLost', 'ticket', 'Workers were heard of no more while they had runs', { metric: lost, above: 5 });
    const rescued = measured.total('leases_rescued_total', minutes(30));
    // Where there were none for weeks a single one is unusual, and nothing to look at.
    const band = this.band('RescuesUnusualBand', 'RescuesUnusual-Band', partOf('RescuesUnusual'), rescued, 1);
    this.whole('RescuesUnusual', 'ticket', 'More attempts are taken up by others than in the weeks before', [
      AlarmRule.allOf(AlarmRule.fromAlarm(band, AlarmState.ALARM), this.part('RescuesUnusual', 'Some', { metric: rescued, above: 5 })),
    ]);
  }

  private limits(): void {
    const { measured } = this;
    this.alarm('StoreThrottled', 'ticket', 'DynamoDB refuses requests for want of capacity', { metric: measured.total('store_throttles_total', minutes(1), WHEREVER), above: 0, of: 5, bad: 3 });
    // What the gateway refuses no function hears of: a tenant within its quota may have all others refused there. `connections` and `bodies` a process alone
    // refuses: a function has one request at a time.
    const byQuota = ['requests', 'runs', 'jobs', 'fires'].map((word) => measured.of(`quota_refusals_total.${word}`, 'Sum', minutes(15), 'api'));
    const refused = combined([...byQuota, measured.refusedByGateway(minutes(15))], minutes(15), 'refused with 429');
    const dropped = (word: string) => ({ metric: measured.total(`telemetry_dropped_total.${word}`, minutes(15), WHEREVER), above: 0, of: 2, bad: 2 });
    this.whole('TelemetryDropped', 'ticket', 'Spans or metrics are not exported to the collector, or events do not reach the bus', [
      this.part('TelemetryDropped', 'Traces', dropped('traces')),
      this.part('TelemetryDropped', 'Metrics', dropped('metrics')),
      this.part('TelemetryDropped', 'Events', dropped('events')),
    ]);
    this.alarm('QuotaRefusals', 'ticket', 'A tenant asks for more than its quota, or all of them for more than the gateway takes', { metric: refused, above: 100 });
  }

  private functions(): void {
    const { functions } = this.props.stack;
    const names = [...FUNCTIONS.map((word) => functions[word]), ...(this.props.stack.archiver ? [this.props.stack.archiver.functionName] : [])];
    const failed = names.flatMap((functionName) => ['Errors', 'Throttles'].map((name) => lambda(name, functionName, minutes(5))));
    // A sweep that left something undone is no invocation that failed, unless it did nothing else.
    const parts = [...failed, this.measured.of('sweeps_failed_total', 'Sum', minutes(5), 'sweeper')];
    this.alarm('FunctionsFail', 'ticket', 'Invocations or parts of sweeps fail, or there are more than may be', { metric: combined(parts, minutes(5), 'failed and throttled'), above: 0, of: 3, bad: 2 });
    this.down();
    this.givenBack();
    this.archive(this.props.stack.archiver);
  }

  /**
   * SQS receives a hint before it invokes anybody for it: an executor that cannot start has taken all of them, and QueueBehind rings once they are
   * old, after ten minutes and more. Of an API that is down only FunctionsFail tells, which is a ticket. What Lambda has counted is there a minute or
   * two later, and until then 0 stands for it: so the last two of the five minutes are not asked to be bad.
   */
  private down(): void {
    const { functions, apiId } = this.props.stack;
    const share = worstShare(FUNCTIONS.map((word) => functions[word]), minutes(1));
    const unanswered = failedShare(apiId, this.measured.refusedByGateway(minutes(1)), minutes(1));
    const comparison = ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD;
    this.whole('FunctionsDown', 'page', 'For minutes half of what a function was to do, and more, has failed or was refused', [
      this.part('FunctionsDown', 'Refused', { metric: share, above: 50, of: 5, bad: 3, comparison }),
      this.part('FunctionsDown', 'ApiFails', { metric: unanswered, above: 50, of: 5, bad: 3, comparison }),
    ]);
  }

  /**
   * An executor that does not reach its table, or KMS, which opens what calls need, ends each invocation well, and takes each hint that it is given,
   * until that is a dead letter. What workers carry out it only reaches and offers, and an attempt that is not the first was reached before: so both are
   * asked.
   */
  private givenBack(): void {
    this.whole('HintsGivenBack', 'page', 'For minutes hints were given back, and nothing was begun', [
      AlarmRule.allOf(
        this.part('HintsGivenBack', 'NothingBegun', { metric: this.givenBackBeside('attempts_total', 'Sum', minutes(1)), above: 0, of: 5, bad: 3 }),
        this.part('HintsGivenBack', 'NothingReached', { metric: this.givenBackBeside('run_lag_seconds', 'SampleCount', minutes(1)), above: 0, of: 5, bad: 3 }),
      ),
    ]);
  }

  /** How many hints were given back where none of this was counted beside them. */
  private givenBackBeside(name: string, statistic: string, period: Duration): IMetric {
    const back = named('back', this.measured.byPriority('hints_given_back_total', 'Sum', period));
    const begun = named('begun', this.measured.byPriority(name, statistic, period));
    const expression = `IF(${summed(begun)} > 0, 0, ${summed(back)})`;
    return new MathExpression({ expression, usingMetrics: { ...back, ...begun }, period, label: `given back, and no ${name}` });
  }

  /**
   * The stream keeps for a day what is not archived yet; the age leaves three quarters of it. An event source that is off has no age, since that is counted
   * of what is read, and the function's invocations are no evidence, since the filter may keep all from it. But each time that Lambda reads the stream it
   * counts what it has read, 0 where there was nothing, before the filter; of a source that is off it counts nothing ("Types of metrics for Lambda
   * functions" in its guide: PolledEventCount, which has to be asked for by `MetricsConfig`). So its silence tells, whether anything expires or not.
   */
  private archive(archiver: Archiver | undefined): void {
    if (archiver === undefined) {
      return;
    }
    const behind = lambda('IteratorAge', archiver.functionName, minutes(5), 'Maximum');
    this.whole('ArchiveBehind', 'page', 'Expired runs wait for the archive, and are lost after a day, or nobody reads the stream that tells of them', [
      this.part('ArchiveBehind', 'Late', { metric: behind, above: 6 * 3_600_000 }),
      this.part('ArchiveBehind', 'NotRead', {
        metric: reads(archiver.sourceId, minutes(15)),
        above: 1,
        of: 4,
        bad: 4,
        comparison: ComparisonOperator.LESS_THAN_THRESHOLD,
        missing: archiver.silence,
      }),
    ]);
    const lacking = ['partial', 'unreadable'].map((word) => this.measured.of(`archived_runs_total.${word}`, 'Sum', minutes(15), 'archiver'));
    this.alarm('ArchiveIncomplete', 'ticket', 'Expired runs were archived that nobody could read whole', { metric: combined(lacking, minutes(15), 'not read whole'), above: 0 });
  }

  private alarm(name: string, severity: Severity, what: string, condition: Condition): void {
    const alarm = new Alarm(this, name, { alarmName: this.named(name), alarmDescription: this.described(name, what), ...looked(condition) });
    this.told(alarm, severity);
  }

  /** A part of an alarm, which tells nobody by itself. */
  private part(of: string, name: string, condition: Condition): IAlarmRule {
    const alarm = new Alarm(this, `${of}${name}`, {
      alarmName: this.named(`${of}-${name}`),
      alarmDescription: partOf(of),
      ...looked(condition),
    });
    return AlarmRule.fromAlarm(alarm, AlarmState.ALARM);
  }

  /** What rings where one of its parts does. */
  private whole(name: string, severity: Severity, what: string, parts: readonly IAlarmRule[]): IAlarm {
    const alarm = new CompositeAlarm(this, name, {
      compositeAlarmName: this.named(name),
      alarmDescription: this.described(name, what),
      alarmRule: AlarmRule.anyOf(...parts),
    });
    this.told(alarm, severity);
    return alarm;
  }

  /** Above what the metric was in the two weeks before, by four of its deviations. */
  private band(id: string, alarmName: string, alarmDescription: string, metric: IMetric, evaluationPeriods: number): Alarm {
    return new AnomalyDetectionAlarm(this, id, {
      alarmName: this.named(alarmName),
      alarmDescription,
      metric,
      stdDevs: 4,
      comparisonOperator: ComparisonOperator.GREATER_THAN_UPPER_THRESHOLD,
      evaluationPeriods,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
  }

  private named(name: string): string {
    return `${this.props.stack.stackName}-${name}`;
  }

  private described(name: string, what: string): string {
    return `${what}. What to do: docs/operations.md#${name.toLowerCase()}`;
  }

  private told(alarm: Alarm | CompositeAlarm, severity: Severity): void {
    alarm.addAlarmAction(...this.props.actions[severity]);
    if (severity === 'page') {
      alarm.addOkAction(...this.props.actions[severity]);
    }
    this.alarms.push(alarm);
  }
}

const partOf = (name: string): string => `A part of ${name}: it tells nobody by itself`;

function looked(condition: Condition) {
  const { metric, above, of = 1, bad = 1, missing = TreatMissingData.NOT_BREACHING, comparison } = condition;
  return {
    metric,
    threshold: above,
    comparisonOperator: comparison ?? ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: of,
    datapointsToAlarm: bad,
    treatMissingData: missing,
  };
}

/** The longest of these spans; 0 where nothing was measured. */
function longest(label: string, parts: readonly IMetric[], period: Duration): IMetric {
  const usingMetrics = named(label, parts);
  const expression = `MAX([${Object.keys(usingMetrics).map((id) => `FILL(${id}, 0)`).join(', ')}])`;
  return new MathExpression({ expression, usingMetrics, period, label });
}

/** Of more than 20 runs that have ended, how many failed, in percent. */
function failedOf(failed: readonly IMetric[], succeeded: readonly IMetric[], period: Duration): IMetric {
  const usingMetrics = named('ended', [...failed, ...succeeded]);
  const ids = Object.keys(usingMetrics).map((id) => `FILL(${id}, 0)`);
  const [bad, all] = [ids.slice(0, failed.length).join(' + '), ids.join(' + ')];
  return new MathExpression({ expression: `IF(${all} > 20, 100 * (${bad}) / (${all}), 0)`, usingMetrics, period, label: 'failed, in percent' });
}

/** How old the oldest hint is where it is older than this and grows older; 0 where all is well. */
function older(lanes: readonly Lane[], limit: number): IMetric {
  const period = minutes(5);
  const usingMetrics = named('age', lanes.map(({ queueName }) => queue('ApproximateAgeOfOldestMessage', queueName, 'Maximum', period)));
  const oldest = `MAX([${Object.keys(usingMetrics).join(', ')}])`;
  const expression = `IF(${oldest} > ${limit} AND DIFF(${oldest}) > 0, ${oldest}, 0)`;
  return new MathExpression({ expression, usingMetrics, period, label: 'seconds that the oldest hint is old, behind its limit' });
}

const namesOf = (lanes: readonly Lane[]): string[] => lanes.map(({ queueName }) => queueName);

/** In how many of these queues messages can be taken, and none is. */
function untaken(queueNames: readonly string[]): IMetric {
  const period = minutes(1);
  const ready = named('ready', queueNames.map((name) => queue('ApproximateNumberOfMessagesVisible', name, 'Minimum', period)));
  const taken = named('taken', queueNames.map((name) => queue('NumberOfMessagesReceived', name, 'Sum', period)));
  const ids = Object.keys(taken);
  const each = Object.keys(ready).map((id, index) => `IF(FILL(${id}, 0) > 0 AND FILL(${ids[index]}, 0) == 0, 1, 0)`);
  return new MathExpression({ expression: each.join(' + '), usingMetrics: { ...ready, ...taken }, period, label: 'queues that nobody takes from' });
}

/** What SQS has counted comes a minute or two later. Until then nothing stands for it, and minutes in a row would never be as many. */
const untakenFor = (bad: number) => ({ of: bad + 2, bad });

/** Of what one function was asked for, how much failed or was refused, in percent: of the one of which it is most. What is refused is not counted among its invocations. */
function worstShare(functionNames: readonly string[], period: Duration): IMetric {
  const counted = (metricName: string) => named(metricName.toLowerCase(), functionNames.map((name) => lambda(metricName, name, period)));
  const [begun, failed, refused] = [counted('Invocations'), counted('Errors'), counted('Throttles')] as const;
  const shares = functionNames.map((_, index) => {
    const at = (metrics: Record<string, IMetric>) => `FILL(${Object.keys(metrics)[index]}, 0)`;
    const asked = `${at(begun)} + ${at(refused)}`;
    return `IF(${asked} > 0, 100 * (${at(failed)} + ${at(refused)}) / (${asked}), 0)`;
  });
  const usingMetrics = { ...begun, ...failed, ...refused };
  return new MathExpression({ expression: `MAX([${shares.join(', ')}])`, usingMetrics, period, label: 'failed or refused, in percent' });
}

/** Of what the gateway was asked for, how much it answered with 5xx or refused by itself, in percent: a function that answers so has not failed, and of what is refused none hears. */
function failedShare(apiId: string, refused: IMetric, period: Duration): IMetric {
  const counted = (metricName: string) => new Metric({ namespace: 'AWS/ApiGateway', metricName, dimensionsMap: { ApiId: apiId }, statistic: 'Sum', period });
  const usingMetrics = { failed: counted('5xx'), refused, asked: counted('Count') };
  const expression = 'IF(FILL(asked, 0) > 0, 100 * (FILL(failed, 0) + FILL(refused, 0)) / FILL(asked, 0), 0)';
  return new MathExpression({ expression, usingMetrics, period, label: 'answered with 5xx or refused, in percent' });
}

function queue(metricName: string, queueName: string, statistic: string, period: Duration): Metric {
  return new Metric({ namespace: 'AWS/SQS', metricName, dimensionsMap: { QueueName: queueName }, statistic, period });
}

/** How often Lambda has read for an event source, whether it found something or not. */
function reads(sourceId: string, period: Duration): Metric {
  const dimensionsMap = { EventSourceMappingUUID: sourceId };
  return new Metric({ namespace: 'AWS/Lambda', metricName: 'PolledEventCount', dimensionsMap, statistic: 'SampleCount', period });
}

function lambda(metricName: string, functionName: string, period: Duration, statistic = 'Sum'): Metric {
  return new Metric({ namespace: 'AWS/Lambda', metricName, dimensionsMap: { FunctionName: functionName }, statistic, period });
}
