/** Everything that stands on top of a stack: alarms, whom they are told to, the dashboard, and a budget. One construct, for an app of one's own. */
import { Aws } from 'aws-cdk-lib';
import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { Alarms, Severity } from './alarms';
import { Overview } from './overview';
import { WatchedStack } from './watched-stack';

export interface ObservedProps {
  readonly stack: WatchedStack;
  /** The ARNs of the topics that wake somebody, and that wait for the morning. Each that is not given is made. */
  readonly topicArns?: Partial<Record<Severity, string>>;
  /** Dollars a month that the whole account is expected to cost at most; without it there is no budget. */
  readonly dollarsAMonth?: number;
}

export class Observed extends Construct {
  readonly topics: Record<Severity, ITopic>;
  readonly alarms: Alarms;

  constructor(scope: Construct, id: string, props: ObservedProps) {
    super(scope, id);
    const { stack, topicArns, dollarsAMonth } = props;
    this.topics = { page: this.topic('Pages', topicArns?.page), ticket: this.topic('Tickets', topicArns?.ticket) };
    const actions = { page: [new SnsAction(this.topics.page)], ticket: [new SnsAction(this.topics.ticket)] };
    this.alarms = new Alarms(this, 'Alarms', { stack, actions });
    new Overview(this, 'Overview', stack, this.alarms.alarms);
    if (dollarsAMonth !== undefined) {
      this.permit(this.topics.ticket);
      this.budget(stack.stackName, dollarsAMonth);
    }
  }

  /**
   * A topic lets its own account publish, CloudWatch among it, until somebody says who may: so where the budget must be named, CloudWatch must be
   * too. The policy of a topic that was given is its owner's.
   */
  private permit(topic: ITopic): void {
    for (const service of ['budgets', 'cloudwatch']) {
      const principals = [new ServicePrincipal(`${service}.amazonaws.com`)];
      const conditions = { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } };
      topic.addToResourcePolicy(new PolicyStatement({ principals, actions: ['sns:Publish'], resources: [topic.topicArn], conditions }));
    }
  }

  private topic(id: string, arn: string | undefined): ITopic {
    return arn ? Topic.fromTopicArn(this, id, arn) : new Topic(this, id);
  }

  /** Told at four fifths of it, and when the month is forecast to go beyond it. */
  private budget(stackName: string, amount: number): void {
    const subscribers = [{ subscriptionType: 'SNS', address: this.topics.ticket.topicArn }];
    const at = (notificationType: string, threshold: number) => ({
      notification: { notificationType, threshold, comparisonOperator: 'GREATER_THAN', thresholdType: 'PERCENTAGE' },
      subscribers,
    });
    new CfnBudget(this, 'Budget', {
      budget: { budgetName: `${stackName}-month`, budgetType: 'COST', timeUnit: 'MONTHLY', budgetLimit: { amount, unit: 'USD' } },
      notificationsWithSubscribers: [at('ACTUAL', 80), at('FORECASTED', 100)],
    });
  }
}
