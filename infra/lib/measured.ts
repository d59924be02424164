/**
 * Minutehand's metrics as CloudWatch has them: named as in docs/metrics.md without `minutehand_`, with the first word behind a dot, and with
 * the dimension `function`, those of the executor `priority` too. And what the template counts in a log, under no dimension.
 */
import { Duration } from 'aws-cdk-lib';
import { IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FunctionWord, PRIORITIES, Priority, WatchedStack } from './watched-stack';

/** CloudWatch takes no more metrics into an expression that an alarm looks at. */
const MOST = 10;

/** Who counts. */
type Where = FunctionWord | 'archiver';

export class Measured {
  constructor(private readonly stack: WatchedStack) {}

  of(name: string, statistic: string, period: Duration, where: Where, priority?: Priority): Metric {
    const dimensionsMap: Record<string, string> = priority ? { function: where, priority } : { function: where };
    return new Metric({ namespace: this.stack.namespace, metricName: name, dimensionsMap, statistic, period });
  }

  /** Of the executor, one for each priority. */
  byPriority(name: string, statistic: string, period: Duration): Metric[] {
    return PRIORITIES.map((priority) => this.of(name, statistic, period, 'executor', priority));
  }

  /** Requests that the gateway answered with 429 by itself. */
  refusedByGateway(period: Duration): Metric {
    return new Metric({ namespace: this.stack.namespace, metricName: 'GatewayRefusals', statistic: 'Sum', period });
  }

  /** The sum over the functions that may have counted it; nothing counts as none. */
  total(name: string, period: Duration, where: readonly Where[] = ['api', 'sweeper', 'executor']): IMetric {
    const parts = where.flatMap((word) =>
      word === 'executor' ? this.byPriority(name, 'Sum', period) : [this.of(name, 'Sum', period, word)],
    );
    return combined(parts, period, name);
  }

  /** The worst of all priorities. */
  worstStart(statistic: string, period: Duration): IMetric {
    const label = `run_lag_seconds ${statistic}`;
    const usingMetrics = named(label, this.starts(statistic, period));
    return new MathExpression({ expression: `MAX([${Object.keys(usingMetrics).join(', ')}])`, usingMetrics, period, label });
  }

  /** How many of all starts in a hundred were later than this. Each share counts by how many it is of: one late start of three is no third of all. */
  lateStarts(seconds: number, period: Duration): IMetric {
    const intime = named('intime', this.starts(`PR(:${seconds})`, period));
    const begun = named('begun', this.starts('SampleCount', period));
    const counts = Object.keys(begun).map((id) => `FILL(${id}, 0)`);
    const late = Object.keys(intime).map((id, index) => `(100 - FILL(${id}, 100)) * ${counts[index]}`);
    const all = counts.join(' + ');
    return new MathExpression({
      expression: `IF(${all} > 0, (${late.join(' + ')}) / (${all}), 0)`,
      usingMetrics: { ...intime, ...begun },
      period,
      label: 'late, in percent',
    });
  }

  private starts(statistic: string, period: Duration): Metric[] {
    return this.byPriority('run_lag_seconds', statistic, period);
  }
}

/** The sum of the metrics, each 0 where there is nothing. */
export function combined(parts: readonly IMetric[], period: Duration, label: string): IMetric {
  const usingMetrics = named(label, parts);
  return new MathExpression({ expression: summed(usingMetrics), usingMetrics, period, label });
}

/** Their sum, as a part of an expression: each 0 where there is nothing. */
export function summed(metrics: Record<string, IMetric>): string {
  return Object.keys(metrics).map((id) => `FILL(${id}, 0)`).join(' + ');
}

/** Each under an id that no other expression of a graph has. */
export function named(label: string, parts: readonly IMetric[]): Record<string, IMetric> {
  if (parts.length > MOST) {
    throw new Error(`${parts.length} metrics in one alarm: CloudWatch takes ${MOST}`);
  }
  const word = label.replaceAll(/[^A-Za-z0-9]+/g, '_').replace(/^[^a-z]*/, 'm_');
  return Object.fromEntries(parts.map((part, index) => [`${word}_${index}`, part]));
}
