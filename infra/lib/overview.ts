/** The dashboard: what an operator asks first, from the top down. Do runs begin in time? Do they end well? What waits? What does it cost? */
import { Duration } from 'aws-cdk-lib';
import { AlarmStatusWidget, Dashboard, GraphWidget, IAlarm, IMetric, IWidget, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { Measured } from './measured';
import { WatchedStack } from './watched-stack';

const EACH = Duration.minutes(1);
const AN_HOUR = Duration.hours(1);

export class Overview extends Construct {
  constructor(scope: Construct, id: string, stack: WatchedStack, alarms: readonly IAlarm[]) {
    super(scope, id);
    const measured = new Measured(stack);
    const dashboard = new Dashboard(this, 'Dashboard', { dashboardName: stack.stackName, defaultInterval: Duration.hours(3) });
    dashboard.addWidgets(new AlarmStatusWidget({ title: 'Alarms', width: 24, height: 4, alarms: [...alarms] }));
    dashboard.addWidgets(
      graph('Do runs begin in time? Seconds late', [measured.worstStart('p50', EACH), measured.worstStart('p99', EACH), measured.worstStart('p100', EACH)]),
      graph('How long ago was the last pass? Seconds', [measured.of('sweep_age_seconds', 'Maximum', EACH, 'sweeper')]),
    );
    dashboard.addWidgets(
      graph('How do they end?', ['succeeded', 'failed', 'timed_out', 'skipped', 'cancelled'].map((word) => measured.total(`runs_total.${word}`, EACH))),
      graph('What is tried again, and what is dead?', [...['http_5xx', 'connect', 'timeout_connect', 'timeout_first_byte', 'timeout_total', 'lost'].map((word) => `retries_total.${word}`), 'dead_letters_total'].map((name) => measured.total(name, EACH))),
    );
    dashboard.addWidgets(
      graph('For how long has the oldest dead letter waited? Seconds', [measured.of('dead_letters_oldest_seconds', 'Maximum', EACH, 'sweeper')]),
      graph('For how long does what workers take wait? Seconds', [
        measured.of('run_lag_stage_seconds.take', 'Maximum', EACH, 'api'),
        ...['worker_wait_seconds', 'unattended_seconds'].flatMap((name) => measured.byPriority(name, 'Maximum', EACH)),
      ]),
    );
    dashboard.addWidgets(
      graph('What waits? Seconds that the oldest message of a queue is old', stack.lanes.map(({ queueName }) => of('AWS/SQS', 'ApproximateAgeOfOldestMessage', { QueueName: queueName }, 'Maximum', EACH))),
      graph('How much is ready?', stack.lanes.map(({ queueName }) => of('AWS/SQS', 'ApproximateNumberOfMessagesVisible', { QueueName: queueName }, 'Maximum', EACH))),
    );
    dashboard.addWidgets(
      graph('Invocations at once', Object.values(stack.functions).map((name) => of('AWS/Lambda', 'ConcurrentExecutions', { FunctionName: name }, 'Maximum', EACH))),
      graph('Units of DynamoDB an hour, and what it refused', [
        measured.total('store_units_total.read', AN_HOUR),
        measured.total('store_units_total.write', AN_HOUR),
        measured.total('store_throttles_total', AN_HOUR),
      ]),
    );
  }
}

function graph(title: string, left: IMetric[]): IWidget {
  return new GraphWidget({ title, left, width: 12, height: 6 });
}

function of(namespace: string, metricName: string, dimensionsMap: Record<string, string>, statistic: string, period: Duration): Metric {
  return new Metric({ namespace, metricName, dimensionsMap, statistic, period });
}
