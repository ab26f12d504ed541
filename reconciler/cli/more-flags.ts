// Flags that verbs around the plan share beyond those in program.ts: what pipelines and people of other tools ask for.
import { Option, type Command } from 'commander';

/** Of verbs that read manifests. */
export const recursiveOption = (): Option =>
  new Option('-R, --recursive', 'also manifests in the directories below, but for overlays/').helpGroup(
    'What is declared:',
  );

/** Of verbs that show a plan. */
export const withPlanWords = (command: Command): Command =>
  command
    .addOption(
      new Option('--expect-no-changes', 'end with 1, and do nothing, when there is something to do').helpGroup(
        'What may happen:',
      ),
    )
    .addOption(
      new Option('--show-secrets', 'show values that are masked otherwise (text only)').helpGroup('What is printed:'),
    )
    .addOption(new Option('--no-wait', 'do not wait for what manage.wait asks for').helpGroup('What may happen:'))
    .addOption(
      new Option('--no-input', 'ask nothing: what needs an approval fails without --auto-approve').helpGroup(
        'What may happen:',
      ),
    );
