/** What stands on top of the stack, synthesized offline: over the outputs of a stack, and around the template. */
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  DeadLetterQueueNames: [...lanes, 'Sweeps'].map((lane) => `prod-${lane}-dead`).join(','),
  StateTableName: 'prod-state',
  TimersTableName: 'prod-timers',
  ApiFunctionName: 'prod-api',
  SweeperFunctionName: 'prod-sweeper',
  ExecutorFunctionName: 'prod-executor',
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

test('CloudWatch takes what an alarm looks at', () => {
  for (const { Properties } of ofType(over(), 'AWS::CloudWatch::Alarm')) {
    const metrics = (Properties['Metrics'] ?? []).filter((metric: any) => metric.MetricStat);
    assert.ok(metrics.length <= 10, `${Properties['AlarmName']}: ${metrics.length}`);
    const periods = new Set(metrics.map((metric: any) => metric.MetricStat.Period));
    assert.ok(periods.size <= 1, `${Properties['AlarmName']}: one period, not ${[...periods]}`);
    assert.ok(Properties['EvaluationPeriods'] * (Properties['Period'] ?? [...periods][0] ?? 60) <= 86_400, Properties['AlarmName']);
  }
});

test('silence of the sweeper is an alarm, and silence of everything else is none', () => {
  const missing = ofType(over(), 'AWS::CloudWatch::Alarm').map(({ Properties }) => [Properties['AlarmName'], Properties['TreatMissingData']]);
  for (const [name, treated] of missing) {
    assert.equal(treated, name === 'prod-TelemetryMissing' ? 'breaching' : 'notBreaching', name);
  }
});

test('metrics are named as the functions write them', () => {
  const late = ofType(over(), 'AWS::CloudWatch::Alarm').find(({ Properties }) => Properties['AlarmName'] === 'prod-CriticalWaits')!;
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
