/** What stands on top of the stack, synthesized offline: over the outputs of a stack, and around the template. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { Observed, ObservedProps } from '../lib/observed';
import { fromOutputs, fromTemplate } from '../lib/watched-stack';

const TEMPLATE = process.env['MINUTEHAND_TEMPLATE'] ?? '../template.yaml';

type Resource = { Type: string; Properties: Record<string, any> };

const lanes = ['Critical', 'High', 'Normal', 'Low'].flatMap((word) => [`${word}`, `${word}Long`]);
const outputs = {
  ...Object.fromEntries(lanes.map((lane) => [`${lane}QueueUrl`, `https://sqs.eu-west-1.amazonaws.com/1/prod-${lane}`])),
  SweepsQueueUrl: 'https://sqs.eu-west-1.amazonaws.com/1/prod-Sweeps',
  DeadLetterQueueNames: [...lanes, 'Sweeps'].map((lane) => `prod-${lane}-dead`).join(','),
  StateTableName: 'prod-state',
  TimersTableName: 'prod-timers',
  ApiFunctionName: 'prod-api',
  SweeperFunctionName: 'prod-sweeper',
  ExecutorFunctionName: 'prod-executor',
  SwitchGroupName: 'prod-switch',
  ApiId: 'a1b2c3',
  ArchiverFunctionName: 'prod-archiver',
  ArchiverSourceId: '0f8f1c7e-archiver',
  FunctionsMeasure: 'on',
};

function written(of: Record<string, string>): string {
  const file = join(mkdtempSync(join(tmpdir(), 'outputs-')), 'outputs.json');
  const all = Object.entries(of).map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue }));
  writeFileSync(file, JSON.stringify({ Stacks: [{ StackName: 'prod', Outputs: all }] }));
  return file;
}

function over(more: Partial<ObservedProps> = {}): Record<string, Resource> {
  const stack = new Stack(new App(), 'observed');
  new Observed(stack, 'Observed', { stack: fromOutputs(written(outputs)), ...more });
  return Template.fromStack(stack).toJSON()['Resources'];
}

const ofType = (resources: Record<string, Resource>, type: string) => Object.values(resources).filter((resource) => resource.Type === type);
const alarmsOf = (resources: Record<string, Resource>) =>
  ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) => ofType(resources, type));

test('over a stack that stands, only what observes is made', () => {
  const types = new Set(Object.values(over({ dollarsAMonth: 100 })).map((resource) => resource.Type));
  assert.deepEqual([...types].sort(), [
    'AWS::Budgets::Budget',
    'AWS::CloudWatch::Alarm',
    'AWS::CloudWatch::CompositeAlarm',
    'AWS::CloudWatch::Dashboard',
    'AWS::SNS::Topic',
    'AWS::SNS::TopicPolicy',
  ]);
  assert.equal(ofType(over(), 'AWS::Budgets::Budget').length, 0, 'a budget is asked for');
});

test('each alarm tells somebody, or is a part of one that does', () => {
  for (const { Properties } of alarmsOf(over())) {
    const isPart = Properties['AlarmDescription'].startsWith('A part of ');
    assert.equal((Properties['AlarmActions'] ?? []).length, isPart ? 0 : 1, Properties['AlarmName']);
    assert.ok(isPart || /docs\/operations\.md#[a-z]+$/.test(Properties['AlarmDescription']), Properties['AlarmDescription']);
  }
});

test('a page and a ticket go to the topics that are named', () => {
  const arn = (name: string) => `arn:aws:sns:eu-west-1:123456789012:${name}`;
  const resources = over({ topicArns: { page: arn('pages'), ticket: arn('tickets') } });
  assert.equal(ofType(resources, 'AWS::SNS::Topic').length, 0);
  const told = Object.fromEntries(alarmsOf(resources).map(({ Properties }) => [Properties['AlarmName'], Properties['AlarmActions']]));
  assert.deepEqual(told['prod-LateStarts'], [arn('pages')]);
  assert.deepEqual(told['prod-DeadLetters'], [arn('tickets')]);
});

/** Tried: without the statement for CloudWatch; a policy takes away what a topic without one allows. */
test('a topic with a budget takes what the budget says, and still what alarms say', () => {
  const policies = ofType(over({ dollarsAMonth: 100 }), 'AWS::SNS::TopicPolicy');
  assert.equal(policies.length, 1);
  const { PolicyDocument, Topics } = policies[0]!.Properties;
  const may = PolicyDocument.Statement.map(({ Principal, Action, Effect }: any) => [Effect, Action, Principal.Service]);
  assert.deepEqual(may, [
    ['Allow', 'sns:Publish', 'budgets.amazonaws.com'],
    ['Allow', 'sns:Publish', 'cloudwatch.amazonaws.com'],
  ]);
  assert.match(JSON.stringify(Topics), /Tickets/);
  assert.equal(ofType(over(), 'AWS::SNS::TopicPolicy').length, 0, 'without a budget there is nothing to permit');
  const given = over({ dollarsAMonth: 100, topicArns: { ticket: 'arn:aws:sns:eu-west-1:123456789012:tickets' } });
  assert.equal(ofType(given, 'AWS::SNS::TopicPolicy').length, 0, 'what a given topic allows is not ours to say');
});

/** Where the executor is gone no run begins, so no start is late and no age is told of but the queues'. Tried: minutes in a row, the newest of which has no count yet. */
test('hints that nobody takes ring before they are old', () => {
  const parts = ofType(over(), 'AWS::CloudWatch::Alarm').filter(({ Properties }) => Properties['AlarmName'].endsWith('NotTaken'));
  const looked = parts.map(({ Properties }) => {
    const stats = Properties['Metrics'].filter((metric: any) => metric.MetricStat).map((metric: any) => metric.MetricStat);
    const queues = new Set(stats.map((stat: any) => stat.Metric.Dimensions[0].Value));
    return [Properties['AlarmName'], [...queues].sort(), Properties['DatapointsToAlarm'] * stats[0].Period, Properties['EvaluationPeriods'] - Properties['DatapointsToAlarm']];
  });
  const of = (words: string[], long: string) => words.map((word) => `prod-${word}${long}`);
  const all = ['Critical', 'High', 'Low', 'Normal'];
  assert.deepEqual(looked, [
    ['prod-CriticalWaits-NotTaken', ['prod-Critical', 'prod-CriticalLong'], 120, 2],
    ['prod-SweepBehind-NotTaken', ['prod-Sweeps'], 300, 2],
    ['prod-QueueBehind-ShortNotTaken', of(all, ''), 300, 2],
    ['prod-QueueBehind-LongNotTaken', of(all, 'Long'), 960, 2],
  ]);
});

/**
 * Tried: the alarm by age alone, which says nothing of a shard that has no pass; without what was received; the last five minutes, two of which are not
 * counted yet; ten minutes, at the end of which the first group has expired.
 */
test('shards that are handed out to nobody ring, and those that wait for seconds do not', () => {
  const resources = over();
  const { Properties } = ofType(resources, 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === 'prod-SweepBehind-NotTaken')!;
  const stats = Properties['Metrics'].filter((metric: any) => metric.MetricStat);
  const { Expression } = Properties['Metrics'].find((metric: any) => metric.Expression);
  type Minute = { ApproximateNumberOfMessagesVisible?: number; NumberOfMessagesReceived?: number };
  const rings = (minutes: Minute[]) => {
    const bad = minutes.slice(-Properties['EvaluationPeriods']).filter((minute) => {
      const worth = Expression.replaceAll(/FILL\((\w+), 0\)/g, (_: string, id: string) => {
        const { MetricName } = stats.find(({ Id }: any) => Id === id).MetricStat.Metric;
        return minute[MetricName as keyof Minute] ?? 0;
      }).replaceAll('AND', '&&');
      return new Function('IF', `return ${worth}`)((condition: boolean, so: number, otherwise: number) => (condition ? so : otherwise)) > Properties['Threshold'];
    });
    return bad.length >= Properties['DatapointsToAlarm'];
  };
  const minutes = (count: number, minute: Minute) => Array.from({ length: count }, () => minute);
  const notCounted = minutes(2, {});

  assert.ok(rings([...minutes(5, { ApproximateNumberOfMessagesVisible: 60 }), ...notCounted]));
  assert.ok(!rings(minutes(7, {})), 'with ShardsPerSweep=64 nothing is sent there');
  assert.ok(!rings(minutes(7, { ApproximateNumberOfMessagesVisible: 0, NumberOfMessagesReceived: 0 })));
  assert.ok(!rings(minutes(7, { ApproximateNumberOfMessagesVisible: 15, NumberOfMessagesReceived: 15 })), 'each minute for some seconds');
  assert.ok(!rings([...minutes(4, { ApproximateNumberOfMessagesVisible: 15 }), ...minutes(3, { ApproximateNumberOfMessagesVisible: 15, NumberOfMessagesReceived: 75 })]));

  const [, kept] = /\n  SweepsQueue:\n(?:    .*\n)*?      MessageRetentionPeriod: (\d+)\n/.exec(readFileSync(TEMPLATE, 'utf8'))!;
  assert.ok(Properties['EvaluationPeriods'] * stats[0].MetricStat.Period < Number(kept), 'one group that nobody takes is there for long enough');
  const [whole] = ofType(resources, 'AWS::CloudWatch::CompositeAlarm').filter(({ Properties }) => Properties['AlarmName'] === 'prod-SweepBehind');
  const rule = JSON.stringify(whole!.Properties['AlarmRule']);
  assert.match(rule, /OR/);
  assert.deepEqual([...rule.matchAll(/SweepBehind(Fails|Late|NotTaken)/g)].map(([, part]) => part).sort(), ['Fails', 'Late', 'NotTaken']);
});

/** Passes that are three minutes apart are late in one minute of three. Tried: two of three minutes, which never were. */
test('passes that are late by minutes ring though no two minutes in a row have one', () => {
  const { Properties } = ofType(over(), 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === 'prod-SweepBehind-Late')!;
  const rings = (each: number, until: number) =>
    Array.from({ length: 30 }, (_, minute) => minute).some((minute) => {
      const late = Array.from({ length: Properties['EvaluationPeriods'] }, (_, back) => minute - back).filter((at) => at >= 0 && at <= until && at % each === 0);
      return late.length >= Properties['DatapointsToAlarm'];
    });
  assert.deepEqual([3, 4, 5].map((each) => rings(each, 30)), [true, true, true]);
  assert.ok(!rings(3, 0), 'one that is late is no sweep that is behind');
});

/** Where there were none for weeks, one is beyond every band. */
test('a single rescue in weeks tells nobody', () => {
  const resources = over();
  const [whole] = ofType(resources, 'AWS::CloudWatch::CompositeAlarm').filter(({ Properties }) => Properties['AlarmName'] === 'prod-RescuesUnusual');
  const rule = JSON.stringify(whole!.Properties['AlarmRule']);
  assert.match(rule, /RescuesUnusualBand.*AND.*RescuesUnusualSome/);
  const some = ofType(resources, 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === 'prod-RescuesUnusual-Some')!;
  assert.deepEqual([some.Properties['Threshold'], some.Properties['EvaluationPeriods']], [5, 1]);
});

/** What workers carry out ends in the API, and not in the executor. Tried: the band alone, which two failures in two hours are above where there were none for weeks. */
test('failures of what workers carry out are looked at as well, and a few failures in weeks tell nobody', () => {
  const resources = over();
  const alarms = ofType(resources, 'AWS::CloudWatch::Alarm').filter(({ Properties }) => Properties['AlarmName'].startsWith('prod-FailuresUnusual-'));
  const looked = alarms.map(({ Properties }) => {
    const stats = Properties['Metrics'].filter((metric: any) => metric.MetricStat).map(({ MetricStat: { Metric } }: any) => Metric);
    const functions = new Set(stats.map(({ Dimensions }: any) => Dimensions.find(({ Name }: any) => Name === 'function').Value));
    return [Properties['AlarmName'].slice('prod-FailuresUnusual-'.length), [...functions].join(), Properties['Threshold'] ?? 'band'];
  });
  assert.deepEqual(looked.sort(), [
    ...[['CalledBand', 'executor', 'band'], ['CalledSome', 'executor', 5], ['PulledBand', 'api', 'band'], ['PulledSome', 'api', 5]],
    ...[['UnansweredBand', 'executor', 'band'], ['UnansweredSome', 'executor', 5]],
  ]);
  const [whole] = ofType(resources, 'AWS::CloudWatch::CompositeAlarm').filter(({ Properties }) => Properties['AlarmName'] === 'prod-FailuresUnusual');
  assert.match(JSON.stringify(whole!.Properties['AlarmRule']), /CalledBand.*AND.*CalledSome.*OR.*UnansweredBand.*AND.*UnansweredSome.*OR.*PulledBand.*AND.*PulledSome/);
});

/** "Anomaly detection on metric math", in the guide of CloudWatch: not of more than ten metrics and expressions. Tried: ten metrics and the expression over them. */
test('what is learned to be usual is made of few enough metrics and expressions', () => {
  const learned = ofType(over(), 'AWS::CloudWatch::Alarm').filter(({ Properties }) => Properties['ThresholdMetricId'] !== undefined);
  assert.equal(learned.length, 4);
  for (const { Properties } of learned) {
    assert.ok(Properties['Metrics'].length <= 10, `${Properties['AlarmName']}: ${Properties['Metrics'].length}`);
  }
});

/** A share of each priority's own would have one late start of three wake somebody. */
test('late starts are a share of all of them', () => {
  const burns = ofType(over(), 'AWS::CloudWatch::Alarm').filter(({ Properties }) => Properties['AlarmName'].startsWith('prod-StartBudgetBurns-'));
  assert.deepEqual(burns.map(({ Properties }) => Properties['Threshold'].toFixed(2)), ['1.44', '1.44', '0.60', '0.60']);
  for (const { Properties } of burns) {
    const share = Properties['Metrics'].find((metric: any) => metric.Expression).Expression;
    const worth = share.replaceAll(/FILL\(m_(\w+)_(\d), \d+\)/g, (_: string, what: string, index: string) =>
      String(what === 'begun' ? [0, 2990, 10, 0, 0][Number(index)] : [100, 99.9, 70, 100, 100][Number(index)]),
    );
    const [, condition, value] = /^IF\((.*) > 0, (.*), 0\)$/.exec(worth)!;
    assert.ok(evaluated(condition!) === 3000, worth);
    assert.ok(Math.abs(evaluated(value!) - (100 * (2.99 + 3)) / 3000) < 1e-9, worth);
    const asked = Properties['Metrics'].flatMap(({ Id, MetricStat }: any) => (MetricStat ? [`${Id.replace(/_\d$/, '')} ${MetricStat.Stat}`] : []));
    assert.deepEqual([...new Set(asked)].sort(), ['m_begun SampleCount', 'm_intime PR(:5)']);
  }
});

/**
 * Tried: the mean of the three shares, in which functions that are well hide one that is down; throttles left out of what was asked for, and of what
 * came to nothing; above 50, not at it; 3 of 3 periods, the last of which is 0 for as long as nothing has come of it.
 */
test('a function that is down rings, whatever the others do, and before its last minutes are counted', () => {
  const { Properties } = ofType(over(), 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === 'prod-FunctionsDown-Refused')!;
  const stats = Properties['Metrics'].filter((metric: any) => metric.MetricStat);
  assert.deepEqual(new Set(stats.map(({ MetricStat }: any) => `${MetricStat.Metric.Namespace} ${MetricStat.Stat} ${MetricStat.Period}`)), new Set(['AWS/Lambda Sum 60']));
  const { Expression } = Properties['Metrics'].find((metric: any) => metric.Expression);

  type Minute = { Invocations?: number; Errors?: number; Throttles?: number };
  const rings = (counted: Record<string, Minute>) => {
    const worth = Expression.replaceAll(/FILL\((\w+), 0\)/g, (_: string, id: string) => {
      const { MetricName, Dimensions } = stats.find(({ Id }: any) => Id === id).MetricStat.Metric;
      return counted[Dimensions[0].Value]?.[MetricName as keyof Minute] ?? 0;
    });
    const choose = (condition: boolean, so: number, otherwise: number) => (condition ? so : otherwise);
    const share = new Function('IF', 'MAX', `return ${worth}`)(choose, (of: number[]) => Math.max(...of));
    assert.equal(Properties['ComparisonOperator'], 'GreaterThanOrEqualToThreshold');
    return share >= Properties['Threshold'];
  };
  const busy = { 'prod-executor': { Invocations: 1000 }, 'prod-sweeper': { Invocations: 1 } };
  assert.ok(!rings({}), 'where nobody asks for anything, nothing fails');
  assert.ok(!rings({ ...busy, 'prod-api': { Invocations: 100, Errors: 49 } }));
  assert.ok(!rings({ ...busy, 'prod-api': { Invocations: 1 }, 'prod-executor': { Invocations: 60, Throttles: 50 } }), 'more is done than is refused');
  assert.ok(rings({ ...busy, 'prod-api': { Invocations: 2, Errors: 1 } }));
  assert.ok(rings({ ...busy, 'prod-sweeper': { Invocations: 1, Errors: 1 } }));
  assert.ok(rings({ ...busy, 'prod-executor': { Throttles: 7 } }), 'who is always refused is never invoked');

  const minutes = [100, 100, 100, 0, 0].slice(-Properties['EvaluationPeriods']);
  assert.ok(minutes.filter((share) => share >= 50).length >= Properties['DatapointsToAlarm'], 'of the last two minutes nothing has come yet');
  assert.ok(Properties['DatapointsToAlarm'] >= 3, 'one bad minute, or two, wake nobody');
});

type Counted = (metric: string, dimensions: Record<string, string>) => number;

/**
 * What an alarm's expression comes to where so much was counted, by the name of the metric and its dimensions, and so much a period before: `DIFF` is what lies
 * between the two.
 */
function worthOf(alarm: string, counted: Counted, before: Counted = counted): number {
  const { Properties } = ofType(over(), 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === alarm)!;
  const { Expression } = Properties['Metrics'].find((metric: any) => metric.Expression);
  const at = (expression: string, counted: Counted) =>
    expression.replaceAll(/FILL\((\w+), 0\)|\b(m_\w+)/g, (_: string, filled?: string, bare?: string) => {
      const { MetricName, Dimensions } = Properties['Metrics'].find(({ Id }: any) => Id === (filled ?? bare)).MetricStat.Metric;
      return String(counted(MetricName, Object.fromEntries((Dimensions ?? []).map(({ Name, Value }: any) => [Name, Value]))));
    });
  const grown = Expression.replaceAll(/DIFF\((MAX\(\[[^\]]*\]\))\)/g, (_: string, of: string) => `(${at(of, counted)} - ${at(of, before)})`);
  const choose = (condition: boolean, so: number, otherwise: number) => (condition ? so : otherwise);
  return new Function('IF', 'MAX', `return ${at(grown, counted).replaceAll('AND', '&&')}`)(choose, (of: number[]) => Math.max(...of));
}

/** A hint is in its queue from five minutes ahead until its call has ended: ten minutes, of long calls twenty-five. One queue is enough, whatever the others hold. */
test('what a queue holds rings while it is older than it may be and grows older', () => {
  const worth = (part: string, before: number, now: number) => {
    const age = (seconds: number) => (_metric: string, { QueueName }: Record<string, string>) => (QueueName.startsWith('prod-Normal') ? seconds : 60);
    return worthOf(`prod-QueueBehind-${part}`, age(now), age(before));
  };
  for (const [part, limit] of [['Short', 600], ['Long', 1500]] as const) {
    const rows = [
      { what: 'at it, and rising', before: limit - 300, now: limit, wanted: 0 },
      { what: 'above it, and rising', before: limit - 299, now: limit + 1, wanted: limit + 1 },
      { what: 'above it, and as before', before: limit + 300, now: limit + 300, wanted: 0 },
      { what: 'above it, and falling', before: limit + 600, now: limit + 300, wanted: 0 },
    ];
    for (const { what, before, now, wanted } of rows) {
      assert.equal(worth(part, before, now), wanted, `${part}: ${what}`);
    }
  }
});

/** A function that answers 503 to everybody has not failed, and nothing was refused. */
test('an API that answers with faults rings', () => {
  const share = (all: number, faults: number) => worthOf('prod-FunctionsDown-ApiFails', (metric, { ApiId }) => (ApiId === 'a1b2c3' ? { Count: all, '5xx': faults }[metric]! : 0));
  assert.deepEqual([share(0, 0), share(200, 50), share(200, 200)], [0, 25, 100]);
});

/** What the gateway refuses is none of the function's counts, and no 5xx: one tenant's loop had all others refused, and nothing rang. */
test('requests that the gateway refuses ring, and where they are half of all they wake somebody', () => {
  const refused = (alarm: string, all: number, refusals: number) =>
    worthOf(alarm, (metric, { ApiId }) => (ApiId === 'a1b2c3' && metric === 'Count' ? all : metric === 'GatewayRefusals' ? refusals : 0));
  assert.deepEqual([refused('prod-QuotaRefusals', 0, 0), refused('prod-QuotaRefusals', 900, 101)], [0, 101]);
  assert.deepEqual([refused('prod-FunctionsDown-ApiFails', 400, 100), refused('prod-FunctionsDown-ApiFails', 400, 200)], [25, 50]);
});

/** Tried: the status alone, by which each 429 of the function's own counts twice; a metric of another name than the alarms look at. */
test('the template counts what the gateway refuses, and not what the function does', () => {
  const template = readFileSync(TEMPLATE, 'utf8');
  const [, filter] = /\n  GatewayRefusals:\n((?:    .*\n)*)/.exec(template)!;
  assert.match(filter!, /LogGroupName: !Ref HttpLogs\n/);
  assert.match(filter!, /MetricNamespace: !Sub "Minutehand\/\$\{AWS::StackName\}", MetricName: GatewayRefusals, MetricValue: "1"/);
  const [, pattern] = /FilterPattern: '\{ (.*) \}'/.exec(filter!)!;
  const [, format] = /\n        Format: >-\n +(\{.*\})\n/.exec(template)!;
  const counts = (context: Record<string, string>) => {
    // What a request has none of is written as a dash.
    const line = JSON.parse(format!.replaceAll(/\$context\.([A-Za-z.]+)/g, (_, name: string) => context[name] ?? '-'));
    return pattern!.split(' && ').every((term) => {
      const [, field, value] = /^\$\.(\w+) = "(.*)"$/.exec(term)!;
      return line[field!] === value;
    });
  };
  assert.ok(counts({ status: '429' }));
  assert.ok(!counts({ status: '429', integrationLatency: '12' }), 'a tenant has as much as its quota allows, which the function counts');
  assert.ok(!counts({ status: '404' }));
});

/** Each invocation of an executor that reaches nothing ends well. Tried: whatever is given back; a table that is throttled for a moment woke somebody. */
test('an executor that gives back all that it takes rings, and one that gives back some does not', () => {
  const worth = (begun: number, back: number) =>
    worthOf('prod-HintsGivenBack-NothingBegun', (metric, { priority }) => (priority === 'high' ? { attempts_total: begun, hints_given_back_total: back }[metric]! : 0));
  assert.deepEqual([worth(0, 0), worth(1, 40), worth(0, 40)], [0, 0, 40]);
});

/** An executor begins nothing of what workers carry out. Tried: only attempts are asked; where all jobs are for workers a throttled table woke somebody. */
test('an executor that gives back some of what it offers to workers does not ring', () => {
  const worth = (offered: number) =>
    worthOf('prod-HintsGivenBack-NothingReached', (metric, { priority }) => (priority === 'low' ? { run_lag_seconds: offered, hints_given_back_total: 40 }[metric]! : 0));
  assert.deepEqual([worth(9), worth(0)], [0, 40]);
  const [whole] = ofType(over(), 'AWS::CloudWatch::CompositeAlarm').filter(({ Properties }) => Properties['AlarmName'] === 'prod-HintsGivenBack');
  assert.match(JSON.stringify(whole!.Properties['AlarmRule']), /NothingBegun[^)]*\) AND ALARM\([^)]*NothingReached/);
});

/** Tried: only what failed is counted; a receiver that accepts and never answers was never told of. */
test('a message that nobody answers rings as one that is refused does', () => {
  const worth = (status: string, where: string) =>
    worthOf('prod-NotificationsFailing', (metric, dimensions) => (metric === `notifications_total.${status}` && dimensions['function'] === where ? 1 : 0));
  const worths = ['failed', 'timed_out', 'succeeded'].map((status) => ['api', 'sweeper', 'executor'].map((where) => worth(status, where)));
  assert.deepEqual(worths, [[1, 1, 1], [1, 1, 1], [0, 0, 0]]);
});

/** The hint of what waits for a worker is used up: no queue says that it waits. */
test('what waits for a worker rings, though its pool has one', () => {
  const waits = (alarm: string, name: string, of: string) =>
    worthOf(`prod-${alarm}`, (metric, dimensions) => (metric === name && dimensions['function'] === 'executor' && dimensions['priority'] === of ? 480 : 0));
  assert.deepEqual([waits('PoolBehind', 'worker_wait_seconds', 'low'), waits('PoolBehind', 'unattended_seconds', 'low')], [480, 0]);
  assert.deepEqual([waits('PoolUnattended', 'unattended_seconds', 'low'), waits('PoolUnattended', 'worker_wait_seconds', 'low')], [480, 0]);
  for (const name of ['worker_wait_seconds', 'unattended_seconds']) {
    assert.deepEqual([waits('CriticalWaits-AwaitsWorker', name, 'critical'), waits('CriticalWaits-AwaitsWorker', name, 'high')], [480, 0]);
  }
});

/**
 * At the list prices of us-east-1: 0.10 for each metric that an alarm looks at, of a band three (the metric and the two edges), 0.50 for a composite alarm and 3 for a
 * dashboard.
 */
test('what the alarms cost a month is said', () => {
  const resources = over();
  const alarms = ofType(resources, 'AWS::CloudWatch::Alarm').map(({ Properties }) => Properties);
  const looked = alarms.map((alarm) => {
    const metrics = (alarm['Metrics'] ?? [null]).filter((metric: any) => metric === null || metric.MetricStat).length;
    return metrics * (alarm['ThresholdMetricId'] ? 3 : 1);
  });
  const [metrics, composites] = [looked.reduce((sum, count) => sum + count, 0), ofType(resources, 'AWS::CloudWatch::CompositeAlarm').length];
  const dollars = Math.round(0.1 * metrics + 0.5 * composites + 3);
  const said = readFileSync(join(dirname(TEMPLATE), 'infra/README.md'), 'utf8').replaceAll(/\s+/g, ' ');
  const wanted = `${alarms.length} alarms over ${metrics} metrics, ${composites} of several of them, and a dashboard: some $${dollars} a month`;
  assert.ok(said.includes(wanted), `infra/README.md: ${wanted}`);
});

/** Numbers, brackets and the four operators, as CloudWatch computes them. */
function evaluated(expression: string): number {
  assert.match(expression, /^[\d.()+*/ -]+$/);
  return Number(new Function(`return ${expression}`)());
}

const COMPARED: Record<string, string> = {
  GreaterThanThreshold: '>',
  GreaterThanOrEqualToThreshold: '>=',
  LessThanThreshold: '<',
  GreaterThanUpperThreshold: 'above',
};

/** Its statistics, and the words and numbers of its expressions, each once. */
function madeOf(metrics: any[]): string {
  const statistics = metrics.flatMap(({ MetricStat }) => (MetricStat ? [MetricStat.Stat] : []));
  const words = metrics.flatMap(({ Expression }) => Expression?.match(/\b[A-Z][A-Z_]+\b|(?<![\w.])\d+(?:\.\d+)?/g) ?? []);
  return [...new Set([...statistics, ...words])].join(' ');
}

/** When it rings; of what; seconds of a period, how many of them are looked at, and how many must be bad; what silence is. */
type Row = [rings: string, of: string, seconds: number, periods: number, bad: number, silence: string];

/** Why so: docs/decisions/0042-alarms.md. */
const ALARMS: Record<string, Row> = {
  LateStarts: ['> 5', 'p99 MAX', 60, 5, 5, 'notBreaching'],
  'StartBudgetBurns-Burn144In60Minutes': ['> 1.44', 'PR(:5) SampleCount IF FILL 0 100', 3600, 1, 1, 'notBreaching'],
  'StartBudgetBurns-Burn144In5Minutes': ['> 1.44', 'PR(:5) SampleCount IF FILL 0 100', 300, 1, 1, 'notBreaching'],
  'StartBudgetBurns-Burn60In360Minutes': ['> 0.6', 'PR(:5) SampleCount IF FILL 0 100', 21600, 1, 1, 'notBreaching'],
  'StartBudgetBurns-Burn60In30Minutes': ['> 0.6', 'PR(:5) SampleCount IF FILL 0 100', 1800, 1, 1, 'notBreaching'],
  'CriticalWaits-BeganLate': ['> 30', 'Maximum', 60, 5, 1, 'notBreaching'],
  'CriticalWaits-AwaitsWorker': ['> 30', 'Maximum MAX FILL 0', 60, 5, 1, 'notBreaching'],
  'CriticalWaits-NotTaken': ['> 0', 'Minimum Sum IF FILL 0 AND 1', 60, 4, 2, 'notBreaching'],
  OccurrencesMissed: ['> 0', 'Sum FILL 0', 300, 1, 1, 'notBreaching'],
  'SweepBehind-Late': ['> 120', 'Maximum', 60, 7, 2, 'notBreaching'],
  'SweepBehind-Fails': ['> 0', 'Sum', 60, 7, 5, 'notBreaching'],
  'SweepBehind-NotTaken': ['> 0', 'Minimum Sum IF FILL 0 AND 1', 60, 7, 5, 'notBreaching'],
  TelemetryMissing: ['< 1', 'SampleCount', 60, 5, 5, 'breaching'],
  SwitchNotPushed: ['> 0', 'Sum', 300, 4, 3, 'notBreaching'],
  SweepsStopped: ['> 0', 'Sum', 60, 20, 1, 'notBreaching'],
  'QueueBehind-Short': ['> 0', 'Maximum IF MAX 600 AND DIFF 0', 300, 2, 2, 'notBreaching'],
  'QueueBehind-ShortNotTaken': ['> 0', 'Minimum Sum IF FILL 0 AND 1', 60, 7, 5, 'notBreaching'],
  'QueueBehind-Long': ['> 0', 'Maximum IF MAX 1500 AND DIFF 0', 300, 2, 2, 'notBreaching'],
  'QueueBehind-LongNotTaken': ['> 0', 'Minimum Sum IF FILL 0 AND 1', 60, 18, 16, 'notBreaching'],
  HintsGivenUp: ['> 0', 'Maximum FILL 0', 300, 1, 1, 'notBreaching'],
  DeadLetters: ['> 0', 'Sum FILL 0', 900, 1, 1, 'notBreaching'],
  SlaMissed: ['> 0', 'Sum FILL 0', 900, 1, 1, 'notBreaching'],
  WorkflowsStalled: ['> 0', 'Sum FILL 0', 900, 1, 1, 'notBreaching'],
  NotificationsFailing: ['> 0', 'Sum FILL 0', 900, 1, 1, 'notBreaching'],
  'FailuresUnusual-CalledBand': ['above band', 'Sum ANOMALY_DETECTION_BAND 4 IF FILL 0 20 100', 3600, 2, 2, 'notBreaching'],
  'FailuresUnusual-CalledSome': ['> 5', 'Sum IF FILL 0 20 100', 3600, 2, 2, 'notBreaching'],
  'FailuresUnusual-UnansweredBand': ['above band', 'Sum ANOMALY_DETECTION_BAND 4 IF FILL 0 20 100', 3600, 2, 2, 'notBreaching'],
  'FailuresUnusual-UnansweredSome': ['> 5', 'Sum IF FILL 0 20 100', 3600, 2, 2, 'notBreaching'],
  'FailuresUnusual-PulledBand': ['above band', 'Sum ANOMALY_DETECTION_BAND 4 IF FILL 0 20 100', 3600, 2, 2, 'notBreaching'],
  'FailuresUnusual-PulledSome': ['> 5', 'Sum IF FILL 0 20 100', 3600, 2, 2, 'notBreaching'],
  PoolUnattended: ['> 180', 'Maximum MAX FILL 0', 300, 25, 1, 'notBreaching'],
  PoolBehind: ['> 300', 'Maximum MAX FILL 0', 300, 25, 1, 'notBreaching'],
  HeartbeatsLost: ['> 5', 'Sum FILL 0', 900, 1, 1, 'notBreaching'],
  'RescuesUnusual-Band': ['above band', 'Sum ANOMALY_DETECTION_BAND 4 FILL 0', 1800, 1, 1, 'notBreaching'],
  'RescuesUnusual-Some': ['> 5', 'Sum FILL 0', 1800, 1, 1, 'notBreaching'],
  StoreThrottled: ['> 0', 'Sum FILL 0', 60, 5, 3, 'notBreaching'],
  'TelemetryDropped-Traces': ['> 0', 'Sum FILL 0', 900, 2, 2, 'notBreaching'],
  'TelemetryDropped-Metrics': ['> 0', 'Sum FILL 0', 900, 2, 2, 'notBreaching'],
  'TelemetryDropped-Events': ['> 0', 'Sum FILL 0', 900, 2, 2, 'notBreaching'],
  QuotaRefusals: ['> 100', 'Sum FILL 0', 900, 1, 1, 'notBreaching'],
  FunctionsFail: ['> 0', 'Sum FILL 0', 300, 3, 2, 'notBreaching'],
  'FunctionsDown-Refused': ['>= 50', 'Sum MAX IF FILL 0 100', 60, 5, 3, 'notBreaching'],
  'FunctionsDown-ApiFails': ['>= 50', 'Sum IF FILL 0 100', 60, 5, 3, 'notBreaching'],
  'HintsGivenBack-NothingBegun': ['> 0', 'Sum IF FILL 0', 60, 5, 3, 'notBreaching'],
  'HintsGivenBack-NothingReached': ['> 0', 'Sum SampleCount IF FILL 0', 60, 5, 3, 'notBreaching'],
  'ArchiveBehind-Late': ['> 21600000', 'Maximum', 300, 1, 1, 'notBreaching'],
  'ArchiveBehind-NotRead': ['< 1', 'SampleCount', 900, 4, 4, 'breaching'],
  ArchiveIncomplete: ['> 0', 'Sum FILL 0', 900, 1, 1, 'notBreaching'],
};

/** The parts of those that have some. */
const WHOLES: Record<string, string> = {
  StartBudgetBurns: '((Burn144In60Minutes AND Burn144In5Minutes) OR (Burn60In360Minutes AND Burn60In30Minutes))',
  CriticalWaits: '(BeganLate OR AwaitsWorker OR NotTaken)',
  SweepBehind: '(Late OR Fails OR NotTaken)',
  QueueBehind: '(Short OR ShortNotTaken OR Long OR LongNotTaken)',
  FailuresUnusual: '((CalledBand AND CalledSome) OR (UnansweredBand AND UnansweredSome) OR (PulledBand AND PulledSome))',
  RescuesUnusual: '((Band AND Some))',
  TelemetryDropped: '(Traces OR Metrics OR Events)',
  FunctionsDown: '(Refused OR ApiFails)',
  HintsGivenBack: '((NothingBegun AND NothingReached))',
  ArchiveBehind: '(Late OR NotRead)',
};

test('each alarm and each part of one has the numbers that this table has', () => {
  const resources = over();
  const named = ({ Properties }: Resource) => Properties['AlarmName'].slice('prod-'.length);
  const rows = ofType(resources, 'AWS::CloudWatch::Alarm').map((alarm) => {
    const { Properties } = alarm;
    const metrics = Properties['Metrics'] ?? [{ MetricStat: { Stat: Properties['Statistic'], Period: Properties['Period'] } }];
    const [seconds] = metrics.flatMap(({ MetricStat }: any) => (MetricStat ? [MetricStat.Period] : []));
    const threshold = Properties['Threshold'] === undefined ? 'band' : Number(Properties['Threshold'].toFixed(6));
    const [periods, bad] = [Properties['EvaluationPeriods'], Properties['DatapointsToAlarm'] ?? Properties['EvaluationPeriods']];
    return [named(alarm), [`${COMPARED[Properties['ComparisonOperator']]} ${threshold}`, madeOf(metrics), seconds, periods, bad, Properties['TreatMissingData']]];
  });
  assert.equal(rows.length, 48);
  assert.deepEqual(Object.fromEntries(rows), ALARMS);

  const wholes = ofType(resources, 'AWS::CloudWatch::CompositeAlarm').map((whole) => {
    const pieces: any[] = whole.Properties['AlarmRule']['Fn::Join'][1];
    const rule = pieces.map((piece) => (typeof piece === 'string' ? piece : named(resources[piece['Fn::GetAtt'][0]]!))).join('');
    return [named(whole), rule.replaceAll(/ALARM\("(.*?)"\)/g, '$1').replaceAll(`${named(whole)}-`, '')];
  });
  assert.deepEqual(Object.fromEntries(wholes), WHOLES);
});

test('CloudWatch takes what an alarm looks at', () => {
  for (const { Properties } of ofType(over(), 'AWS::CloudWatch::Alarm')) {
    const metrics = (Properties['Metrics'] ?? []).filter((metric: any) => metric.MetricStat);
    assert.ok(metrics.length <= 10, `${Properties['AlarmName']}: ${metrics.length}`);
    const periods = new Set(metrics.map((metric: any) => metric.MetricStat.Period));
    assert.ok(periods.size <= 1, `${Properties['AlarmName']}: one period, not ${[...periods]}`);
    assert.ok(Properties['EvaluationPeriods'] * (Properties['Period'] ?? [...periods][0] ?? 60) <= 86_400, Properties['AlarmName']);
  }
});

/** Something is counted of these each minute, in a deployment without jobs too. */
const READS_ALL_THE_TIME = ['prod-TelemetryMissing', 'prod-ArchiveBehind-NotRead'];

test('silence of the sweeper, or of what reads for the archive, is an alarm, and silence of everything else is none', () => {
  const missing = ofType(over(), 'AWS::CloudWatch::Alarm').map(({ Properties }) => [Properties['AlarmName'], Properties['TreatMissingData']]);
  for (const [name, treated] of missing) {
    assert.equal(treated, READS_ALL_THE_TIME.includes(name) ? 'breaching' : 'notBreaching', name);
  }
});

/** `Metrics=off`. Tried: silence that is a fault wherever the stack is; a page that nobody could end. */
test('silence of functions that are to measure nothing is no alarm, and of a stack that says nothing of that it is one', () => {
  const treated = (resources: Record<string, any>) =>
    Object.values(resources).find(({ Properties }) => Properties?.AlarmName?.toString().endsWith('-TelemetryMissing')).Properties['TreatMissingData'];
  const over = (of: Record<string, string>) => {
    const stack = new Stack(new App(), 'observed');
    new Observed(stack, 'Observed', { stack: fromOutputs(written(of)) });
    return Template.fromStack(stack).toJSON()['Resources'];
  };
  const { FunctionsMeasure: _before, ...without } = outputs;
  assert.deepEqual([treated(over({ ...outputs, FunctionsMeasure: 'off' })), treated(over(outputs)), treated(over(without))], ['notBreaching', 'breaching', 'breaching']);

  const whole = new Stack(new App(), 'whole');
  const included = new CfnInclude(whole, 'Minutehand', { templateFile: TEMPLATE });
  new Observed(whole, 'Observed', { stack: fromTemplate('minutehand', included) });
  const { Resources, Conditions, Outputs } = Template.fromStack(whole).toJSON();
  assert.deepEqual(treated(Resources), { 'Fn::If': ['Measures', 'breaching', 'notBreaching'] });
  assert.deepEqual(Conditions['Measures'], { 'Fn::Equals': [{ Ref: 'Metrics' }, 'on'] });
  assert.deepEqual(Outputs['FunctionsMeasure'].Value, { Ref: 'Metrics' });
});

/** Tried: a metric of the function's own, which is silent where it does not start; a window of 15 minutes, which ends before the longest switch has fired again. */
test('the dead man\'s switch rings by what its own group counts, and on while it alone wakes the sweeper', () => {
  const alarms = (resources: Record<string, Resource>) => ofType(resources, 'AWS::CloudWatch::Alarm').filter(({ Properties }) => Properties['AlarmName'] === 'prod-SweepsStopped');
  const { Properties } = alarms(over())[0]!;
  assert.deepEqual(
    [Properties['Namespace'], Properties['MetricName'], Properties['Dimensions'], Properties['Statistic'], Properties['Threshold']],
    ['AWS/Scheduler', 'InvocationAttemptCount', [{ Name: 'ScheduleGroup', Value: 'prod-switch' }], 'Sum', 0],
  );
  assert.equal(Properties['DatapointsToAlarm'], 1);
  const template = readFileSync(TEMPLATE, 'utf8');
  const [, longest] = /SwitchMinutes:\n(?:.*\n)*?    AllowedValues: \[[\d, ]*?(\d+)\]/.exec(template)!;
  // A schedule may be a minute late, and the pass that pushes the switch again has five.
  assert.ok(Properties['EvaluationPeriods'] * Properties['Period'] >= 60 * (Number(longest) + 1), `${longest} minutes`);

  const { SwitchGroupName: _off, ...without } = outputs;
  const stack = new Stack(new App(), 'observed');
  new Observed(stack, 'Observed', { stack: fromOutputs(written(without)) });
  assert.deepEqual(alarms(Template.fromStack(stack).toJSON()['Resources']), [], 'a stack without a switch');
});

/**
 * An event source that is off tells nothing at all. Tried: the sum of what was read, which is 0 of an idle table as well; silence that is nothing; silence that
 * is a fault where there is no archive; a day of silence.
 */
test('an archive that nobody reads for rings, idle or not, and where there is none it does not', () => {
  const notRead = (resources: Record<string, any>) =>
    Object.values(resources).find(({ Properties }) => Properties?.AlarmName?.toString().endsWith('-ArchiveBehind-NotRead'))?.Properties;
  const properties = notRead(over());
  assert.deepEqual(
    [properties['Namespace'], properties['MetricName'], properties['Dimensions'], properties['Statistic']],
    ['AWS/Lambda', 'PolledEventCount', [{ Name: 'EventSourceMappingUUID', Value: '0f8f1c7e-archiver' }], 'SampleCount'],
  );
  assert.deepEqual(
    [properties['ComparisonOperator'], properties['Threshold'], properties['TreatMissingData'], properties['DatapointsToAlarm']],
    ['LessThanThreshold', 1, 'breaching', properties['EvaluationPeriods']],
  );
  assert.ok(properties['EvaluationPeriods'] * properties['Period'] <= 6 * 3_600, 'a stream keeps a day, and somebody has to mend it');

  const { ArchiverSourceId: _none, ...without } = outputs;
  assert.throws(() => fromOutputs(written(without)), /no output ArchiverSourceId/);
  const whole = new Stack(new App(), 'whole');
  const included = new CfnInclude(whole, 'Minutehand', { templateFile: TEMPLATE });
  new Observed(whole, 'Observed', { stack: fromTemplate('minutehand', included) });
  const around = notRead(Template.fromStack(whole).toJSON()['Resources']);
  assert.deepEqual(around['TreatMissingData'], { 'Fn::If': ['Archives', 'breaching', 'notBreaching'] });
  assert.deepEqual(around['Dimensions'][0]['Value'], { 'Fn::If': ['Archives', { Ref: 'ArchiverFunctionExpiry' }, 'no-archiver'] });
});

/** Tried: the function's name without the condition; an alarm under the condition, which the dashboard leads to; an age in seconds. */
test('expired runs that wait for the archive ring where there is one, hours before they are lost', () => {
  const alarms = (resources: Record<string, any>) =>
    Object.values(resources).filter((resource) => resource.Type === 'AWS::CloudWatch::Alarm' && /Archive(Behind-Late|Incomplete)$/.test(resource.Properties.AlarmName?.toString()));
  const [{ Properties }, incomplete] = alarms(over()) as [any, any];
  assert.deepEqual(
    [Properties['Namespace'], Properties['MetricName'], Properties['Dimensions'], Properties['Statistic']],
    ['AWS/Lambda', 'IteratorAge', [{ Name: 'FunctionName', Value: 'prod-archiver' }], 'Maximum'],
  );
  assert.ok(Properties['Threshold'] <= 12 * 3_600_000, 'a stream keeps a day, in milliseconds');
  const looked = incomplete.Properties['Metrics'].flatMap(({ MetricStat }: any) => (MetricStat ? [[MetricStat.Metric.MetricName, MetricStat.Metric.Dimensions]] : []));
  const archiver = [{ Name: 'function', Value: 'archiver' }];
  assert.deepEqual(looked, [['archived_runs_total.partial', archiver], ['archived_runs_total.unreadable', archiver]]);

  const { ArchiverFunctionName: _none, ...without } = outputs;
  const stack = new Stack(new App(), 'observed');
  new Observed(stack, 'Observed', { stack: fromOutputs(written(without)) });
  assert.deepEqual(alarms(Template.fromStack(stack).toJSON()['Resources']), [], 'a stack without an archive');

  const whole = new Stack(new App(), 'whole');
  const included = new CfnInclude(whole, 'Minutehand', { templateFile: TEMPLATE });
  new Observed(whole, 'Observed', { stack: fromTemplate('minutehand', included) });
  const resources = Object.entries(Template.fromStack(whole).toJSON()['Resources']) as [string, any][];
  const conditional = new Set(resources.filter(([, resource]) => resource.Condition).map(([id]) => id));
  assert.ok(conditional.has('ArchiverFunction'));
  for (const [id, resource] of resources.filter(([, resource]) => !resource.Condition)) {
    for (const named of leadsTo(resource)) {
      assert.ok(!conditional.has(named), `${id} is always there and leads to ${named}, which is not`);
    }
  }
});

/** Whatever stands under a condition of its own is left out. */
function leadsTo(value: any): string[] {
  if (Array.isArray(value)) {
    return value.flatMap(leadsTo);
  }
  if (value === null || typeof value !== 'object' || 'Fn::If' in value) {
    return [];
  }
  const own = [value.Ref, value['Fn::GetAtt']?.[0] ?? undefined].filter((id): id is string => typeof id === 'string');
  return [...own, ...Object.values(value).flatMap(leadsTo)];
}

test('metrics are named as the functions write them', () => {
  const late = ofType(over(), 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === 'prod-CriticalWaits-BeganLate')!;
  assert.deepEqual(
    [late.Properties['Namespace'], late.Properties['MetricName'], late.Properties['Statistic'], late.Properties['Threshold']],
    ['Minutehand/prod', 'run_lag_seconds', 'Maximum', 30],
  );
  const dimensions = Object.fromEntries(late.Properties['Dimensions'].map(({ Name, Value }: any) => [Name, Value]));
  assert.deepEqual(dimensions, { function: 'executor', priority: 'critical' });
});

test('outputs of something else are refused by the name of what is missing', () => {
  const { ExecutorFunctionName: _gone, ...others } = outputs;
  assert.throws(() => fromOutputs(written(others)), /no output ExecutorFunctionName/);
});

test('around the template nothing of it changes, and names lead to it', () => {
  const synthesized = (observed: boolean) => {
    const app = new App();
    const whole = new Stack(app, 'whole');
    const included = new CfnInclude(whole, 'Minutehand', { templateFile: TEMPLATE });
    if (observed) {
      new Observed(whole, 'Observed', { stack: fromTemplate('minutehand', included) });
    }
    return app.synth().getStackByName('whole').template;
  };
  const [alone, whole] = [synthesized(false), synthesized(true)];

  for (const part of ['Parameters', 'Mappings', 'Conditions', 'Outputs', 'Globals', 'Transform']) {
    assert.deepEqual(whole[part], alone[part], part);
  }
  for (const [id, resource] of Object.entries(alone.Resources)) {
    assert.deepEqual(whole.Resources[id], resource, id);
  }
  const resources = JSON.stringify(whole.Resources);
  assert.ok(resources.includes('{"Fn::GetAtt":["CriticalLongQueue","QueueName"]}'), 'an alarm looks at the queue of the template');
});

/** Tried: 11 periods, in which the alarm of one run ends and begins with each hour; any two looks, of which two restarts within two hours woke somebody. */
test('a pool with one run rings on between the looks at it, and one that was restarted does not ring', () => {
  const { Properties } = ofType(over(), 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === 'prod-PoolUnattended')!;
  const period = Properties['Metrics'].find((metric: any) => metric.MetricStat).MetricStat.Period / 60;
  const ringing = (looks: readonly { at: number; waited: number }[]) => (now: number) => {
    const worth = (at: number) => Math.max(0, ...looks.filter((look) => Math.floor(look.at / period) === at).map((look) => look.waited * 60));
    const periods = Array.from({ length: Properties['EvaluationPeriods'] }, (_, back) => now - back);
    return periods.filter((at) => worth(at) > Properties['Threshold']).length >= Properties['DatapointsToAlarm'];
  };
  const waits = [0.5, 1, 2, 4, 8, 16, 32, 64, ...Array.from({ length: 22 }, (_, hour) => 124 + 60 * hour)];
  for (let shift = 0; shift < period; shift += 0.5) {
    const rings = ringing(waits.map((waited) => ({ at: waited + shift, waited })));
    const [first, last] = [4, waits.at(-1)!].map((minute) => Math.floor((minute + shift) / period));
    const quiet = Array.from({ length: last! - first! }, (_, index) => first! + index).filter((at) => !rings(at));
    assert.deepEqual(quiet, [], `begun ${shift} minutes into a period`);
    assert.ok(!rings(last! + Properties['EvaluationPeriods']), 'and it ends');
  }
  const restarts = ringing([0, 7, 20].flatMap((began) => [0.5, 1, 2].map((waited) => ({ at: began + waited, waited }))));
  assert.ok(!Array.from({ length: 30 }, (_, at) => at).some(restarts));
});
