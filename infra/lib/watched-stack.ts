/**
 * What the alarms look at: the names of what template.yaml deploys. They come from the outputs of a stack that stands, or from the template
 * itself where it is included; nothing of it is defined here.
 */
import { readFileSync } from 'node:fs';
import { Fn } from 'aws-cdk-lib';
import { TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { CfnFunction } from 'aws-cdk-lib/aws-sam';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';

export const PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];
export const FUNCTIONS = ['api', 'sweeper', 'executor'] as const;
export type FunctionWord = (typeof FUNCTIONS)[number];

/** A queue of hints. Long calls have one of their own in each priority. */
export interface Lane {
  readonly priority: Priority;
  readonly long: boolean;
  readonly queueName: string;
}

/** The function that puts what has expired into a bucket. */
export interface Archiver {
  readonly functionName: string;
  /** The event source that reads the stream of the table for it. */
  readonly sourceId: string;
  /** What it means that nothing is told of that source: a fault, but where a parameter leaves it out. */
  readonly silence: TreatMissingData;
}

export interface WatchedStack {
  readonly stackName: string;
  /** Where the functions' own metrics are. */
  readonly namespace: string;
  readonly lanes: readonly Lane[];
  /** The queue of shards that a tick hands out to further invocations of the sweeper. */
  readonly sweepsQueue: string;
  readonly deadLetterQueues: readonly string[];
  readonly functions: Record<FunctionWord, string>;
  /** Of the gateway before the function that answers. */
  readonly apiId: string;
  /** What it means that the functions have measured nothing: a fault, but where a parameter turns that off. */
  readonly silence: TreatMissingData;
  /** The group of schedules that the dead man's switch is alone in; none where the stack has no switch. */
  readonly switchGroup?: string;
  /** Where the stack has one. */
  readonly archiver?: Archiver;
}

const laneIds = PRIORITIES.flatMap((priority) =>
  [false, true].map((long) => ({ priority, long, id: capitalized(priority) + (long ? 'Long' : '') })),
);

/** Of a stack that stands: `aws cloudformation describe-stacks --stack-name NAME > outputs.json`. */
export function fromOutputs(file: string): WatchedStack {
  const stack = JSON.parse(readFileSync(file, 'utf8')).Stacks?.[0];
  const outputs: Record<string, string> = Object.fromEntries(
    (stack?.Outputs ?? []).map((output: { OutputKey: string; OutputValue: string }) => [output.OutputKey, output.OutputValue]),
  );
  const output = (key: string): string => {
    const value = outputs[key];
    if (!value) {
      throw new Error(`${file} has no output ${key}: it is not what \`aws cloudformation describe-stacks\` says of a stack of template.yaml`);
    }
    return value;
  };
  return {
    stackName: stack.StackName,
    namespace: `Minutehand/${stack.StackName}`,
    lanes: laneIds.map(({ priority, long, id }) => ({ priority, long, queueName: lastOf(output(`${id}QueueUrl`)) })),
    sweepsQueue: lastOf(output('SweepsQueueUrl')),
    deadLetterQueues: output('DeadLetterQueueNames').split(','),
    functions: {
      api: output('ApiFunctionName'),
      sweeper: output('SweeperFunctionName'),
      executor: output('ExecutorFunctionName'),
    },
    apiId: output('ApiId'),
    // A stack that was deployed before there was this output says nothing, and measures unless somebody turned that off.
    silence: outputs['FunctionsMeasure'] === 'off' ? TreatMissingData.NOT_BREACHING : TreatMissingData.BREACHING,
    ...(outputs['SwitchGroupName'] ? { switchGroup: outputs['SwitchGroupName'] } : {}),
    ...(outputs['ArchiverFunctionName'] ? { archiver: archiver(outputs['ArchiverFunctionName'], output('ArchiverSourceId')) } : {}),
  };
}

/** Of the template in the same stack. */
export function fromTemplate(stackName: string, template: CfnInclude): WatchedStack {
  const queue = (id: string): string => (template.getResource(id) as CfnQueue).attrQueueName;
  const lambda = (id: string): string => (template.getResource(id) as CfnFunction).ref;
  return {
    stackName,
    namespace: Fn.join('/', ['Minutehand', stackName]),
    lanes: laneIds.map(({ priority, long, id }) => ({ priority, long, queueName: queue(`${id}Queue`) })),
    sweepsQueue: queue('SweepsQueue'),
    deadLetterQueues: [...laneIds.map(({ id }) => queue(`${id}DeadLetters`)), queue('SweepsDeadLetters')],
    functions: { api: lambda('ApiFunction'), sweeper: lambda('SweeperFunction'), executor: lambda('ExecutorFunction') },
    apiId: template.getResource('HttpApi').ref,
    silence: silenceWhere('Measures'),
    // By its name and not by the resource, which a parameter may leave out: then nothing is counted under it.
    switchGroup: Fn.join('-', [stackName, 'switch']),
    archiver: includedArchiver(lambda('ArchiverFunction'), (template.getResource('ArchiverFunctionExpiry') as CfnEventSourceMapping).ref),
  };
}

function archiver(functionName: string, sourceId: string): Archiver {
  return { functionName, sourceId, silence: TreatMissingData.BREACHING };
}

/** Where a parameter leaves it out nothing is counted under these names, and that is no fault. */
function includedArchiver(functionName: string, sourceId: string): Archiver {
  const orNone = (there: string): string => Fn.conditionIf('Archives', there, 'no-archiver').toString();
  return { functionName: orNone(functionName), sourceId: orNone(sourceId), silence: silenceWhere('Archives') };
}

/** Silence is a fault where this condition of the template holds, and none where it does not. */
function silenceWhere(condition: string): TreatMissingData {
  return Fn.conditionIf(condition, TreatMissingData.BREACHING, TreatMissingData.NOT_BREACHING).toString() as TreatMissingData;
}

function capitalized(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}

function lastOf(url: string): string {
  return url.split('/').at(-1)!;
}
