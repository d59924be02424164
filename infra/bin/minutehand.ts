/**
 * The app. Over a stack that stands: `-c outputs=outputs.json`. Around the template, in one stack: `-c template=packaged.yaml -c stack=NAME`.
 * Also `-c pages=ARN`, `-c tickets=ARN` (topics), `-c dollars=N` (a month's budget).
 */
import { App, Stack } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { Observed } from '../lib/observed';
import { fromOutputs, fromTemplate } from '../lib/watched-stack';

const app = new App();
const given = (name: string): string | undefined => app.node.tryGetContext(name);
const outputs = given('outputs');
const template = given('template');
if ((outputs === undefined) === (template === undefined)) {
  throw new Error('say -c outputs=FILE (a stack that stands) or -c template=FILE -c stack=NAME (the template in this stack), and not both');
}
const dollars = given('dollars');
if (dollars !== undefined && !(Number(dollars) > 0)) {
  throw new Error(`-c dollars=${dollars}: a budget is a number of dollars above 0`);
}
const options = {
  topicArns: { page: given('pages'), ticket: given('tickets') },
  dollarsAMonth: dollars === undefined ? undefined : Number(dollars),
};
if (outputs !== undefined) {
  const stack = fromOutputs(outputs);
  new Observed(new Stack(app, `${stack.stackName}-observed`), 'Observed', { stack, ...options });
} else {
  const name = given('stack') ?? 'minutehand';
  const whole = new Stack(app, name);
  const included = new CfnInclude(whole, 'Minutehand', { templateFile: template! });
  new Observed(whole, 'Observed', { stack: fromTemplate(name, included), ...options });
}
app.synth();
