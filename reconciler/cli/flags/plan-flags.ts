// Flags that verbs around the plan share beyond those in program.ts: what pipelines and people of other tools ask for.
import { Option, type Command } from 'commander';

/** Of verbs that read manifests. */
export const recursiveOption = (): Option =>
  new Option('-R, --recursive', 'also manifests in the directories below, but for overlays/');

/** Of verbs that show a plan. */
export const withPlanWords = (command: Command): Command =>
  command
    .option('--expect-no-changes', 'end with 1, and do nothing, when there are changes')
    .option('--compact', 'one line for each object, equal ones together (text only)')
    .option('--no-pager', 'never show a plan through $PAGER')
    .option('--show-secrets', 'show values that are masked otherwise (text only)')
    .option('--no-wait', 'do not wait for what manage.wait asks for')
    .option('--no-input', 'ask nothing: what needs an approval fails without --auto-approve');
