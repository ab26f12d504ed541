// All verbs, under the titles and in the order of `gantry --help`: what declares each, and how its code is loaded when it runs.
import type { ExitCode } from '../errors/exit-codes.ts';
import type { Fleet } from '../fleet/choose-hosts.ts';
import type { OptionsOf, Verb } from '../flags/verb.ts';
import type { OpenContext } from '../session/context.ts';
import * as applying from '../verbs/applying/applying-verbs.ts';
import * as backups from '../verbs/containers/backup-verbs.ts';
import * as containers from '../verbs/containers/container-verbs.ts';
import * as snapshots from '../verbs/containers/snapshot-verbs.ts';
import * as images from '../verbs/images/image-verbs.ts';
import * as objects from '../verbs/objects/object-verbs.ts';
import * as planning from '../verbs/planning/planning-verbs.ts';
import * as setup from '../verbs/setup/setup-verbs.ts';

type Run<O extends object = object> = (context: OpenContext<O>, args: readonly string[]) => Promise<ExitCode>;
type RunOnHosts<O extends object = object> = (
  context: OpenContext<O>,
  args: readonly string[],
  fleet: Fleet,
) => Promise<ExitCode>;

export interface VerbRow {
  readonly verb: Verb;
  readonly run: Run;
  /** On several hosts at once; without it --hosts selects the one host that the verb works on. */
  readonly onHosts?: RunOnHosts;
}

const row = <V extends Verb>(verb: V, run: Run<OptionsOf<V>>, onHosts?: RunOnHosts<OptionsOf<V>>): VerbRow => ({
  verb,
  run,
  ...(onHosts === undefined ? {} : { onHosts }),
});

/** Groups of verbs of two words. */
export const groups: Readonly<Record<string, string>> = {
  file: 'files of containers',
  snapshot: 'snapshots of containers',
  backup: 'backups of containers',
  image: 'images',
};

const apply = () => import('../verbs/applying/apply.ts');
const applyFleet = () => import('../fleet/apply.ts');
const history = () => import('../verbs/applying/history.ts');
const lock = () => import('../verbs/applying/lock.ts');
const lockFleet = () => import('../fleet/lock.ts');
const adoption = () => import('../verbs/applying/adopt.ts');
const exec = () => import('../verbs/containers/exec.ts');
const copy = () => import('../verbs/containers/copy.ts');
const snapshot = () => import('../verbs/containers/snapshot.ts');
const backup = () => import('../verbs/containers/backup.ts');
const newImage = () => import('../verbs/images/image-make.ts');
const image = () => import('../verbs/images/image-change.ts');
const readFleet = () => import('../fleet/drift-status-get.ts');
const reportFleet = () => import('../fleet/diff-history-doctor.ts');

export const verbs: Readonly<Record<string, readonly VerbRow[]>> = {
  'Change hosts:': [
    row(
      planning.plan,
      async (context, args) => (await import('../verbs/planning/plan.ts')).plan(context, args),
      async (context, args, fleet) => (await import('../fleet/plan.ts')).planFleet(context, fleet, args),
    ),
    row(
      applying.apply,
      async (context, args) => (await apply()).apply(context, args, 'apply'),
      async (context, args, fleet) => (await applyFleet()).applyFleet(context, fleet, args),
    ),
    row(
      applying.destroy,
      async (context, args) => (await apply()).apply(context, args, 'destroy'),
      async (context, args, fleet) => (await applyFleet()).destroyFleet(context, fleet, args),
    ),
    row(
      applying.run,
      async (context, args) => (await import('../verbs/applying/run.ts')).run(context, args),
      async (context, args, fleet) => (await import('../fleet/run.ts')).runFleet(context, fleet, args),
    ),
    row(
      applying.rollback,
      async (context, args) => (await import('../verbs/applying/rollback.ts')).rollback(context, args[0]),
      async (context, args, fleet) => (await import('../fleet/rollback.ts')).rollBackFleet(context, fleet, args[0]),
    ),
    row(images.update, async (context, args) => (await import('../verbs/images/update.ts')).update(context, args)),
    row(applying.preseed, async (context, args) => (await apply()).preseed(context, args[0])),
    row(
      applying.lock,
      async (context) => (await lock()).lock(context),
      async (context, _args, fleet) => (await lockFleet()).lockFleet(context, fleet),
    ),
    row(
      applying.forceUnlock,
      async (context, args) => (await lock()).forceUnlock(context, args[0]),
      async (context, args, fleet) => (await lockFleet()).unlockFleet(context, fleet, args[0]),
    ),
  ],
  'Inspect hosts:': [
    row(
      planning.status,
      async (context, args) => (await import('../verbs/planning/status.ts')).status(context, args),
      async (context, args, fleet) => (await readFleet()).statusFleet(context, fleet, args),
    ),
    row(
      planning.drift,
      async (context, args) => (await import('../verbs/planning/drift.ts')).drift(context, args),
      async (context, args, fleet) =>
        context.options.watch === true
          ? (await import('../fleet/watch.ts')).watchFleet(context, fleet, args)
          : (await readFleet()).driftFleet(context, fleet, args),
    ),
    row(
      planning.diff,
      async (context, args) => (await import('../verbs/planning/diff.ts')).diff(context, args),
      async (context, args, fleet) => (await reportFleet()).diffFleet(context, fleet, args),
    ),
    row(
      applying.history,
      async (context) => (await history()).history(context),
      async (context, _args, fleet) => (await reportFleet()).historyFleet(context, fleet),
    ),
    row(applying.historyShow, async (context, args) => (await history()).historyShow(context, args)),
    row(applying.historyDiff, async (context, args) => (await history()).historyDiff(context, args)),
    row(
      objects.get,
      async (context, args) => (await import('../verbs/objects/get.ts')).get(context, args),
      async (context, args, fleet) => (await readFleet()).getFleet(context, fleet, args),
    ),
    row(objects.show, async (context, args) => (await import('../verbs/objects/show.ts')).show(context, args)),
    row(objects.wait, async (context, args) => (await import('../verbs/objects/wait.ts')).wait(context, args)),
    row(objects.events, async (context) => (await import('../verbs/objects/events.ts')).events(context)),
    row(planning.graph, async (context, args) => (await import('../verbs/planning/graph.ts')).graph(context, args)),
    row(
      setup.doctor,
      async (context) => (await import('../verbs/setup/doctor.ts')).doctor(context),
      async (context, _args, fleet) => (await reportFleet()).doctorFleet(context, fleet),
    ),
  ],
  'Manifests and tools:': [
    row(setup.init, async (context, args) => (await import('../verbs/setup/init.ts')).init(context, args[0])),
    row(
      objects.exportHost,
      async (context, args) => (await import('../verbs/objects/export.ts')).exportHost(context, args),
      async (context, args, fleet) => (await import('../fleet/export.ts')).exportFleet(context, fleet, args),
    ),
    row(applying.adopt, async (context, args) => (await adoption()).adopt(context, args)),
    row(applying.release, async (context, args) => (await adoption()).release(context, args)),
    row(
      planning.validate,
      async (context, args) => (await import('../verbs/planning/validate.ts')).validate(context, args),
      async (context, args, fleet) => (await import('../fleet/validate.ts')).validateFleet(context, fleet, args),
    ),
    row(setup.fmt, async (context, args) => (await import('../verbs/setup/fmt.ts')).fmt(context, args)),
    row(setup.explain, async (context, args) =>
      (await import('../verbs/setup/explain.ts')).explainPath(context, args[0]),
    ),
    row(setup.schema, async (context) => (await import('../verbs/setup/schema.ts')).schema(context)),
    row(setup.completion, async (context, args) =>
      (await import('../verbs/setup/completion.ts')).completion(context, args, { verbs: allVerbs(), groups }),
    ),
    row(setup.version, async (context) => (await import('../verbs/setup/version.ts')).showVersion(context)),
  ],
  'Use containers and images:': [
    row(containers.exec, async (context, args) => (await exec()).exec(context, args)),
    row(containers.attachConsole, async (context, args) => (await exec()).attachConsole(context, args)),
    row(containers.filePull, async (context, args) =>
      (await import('../verbs/containers/file-pull.ts')).pullFile(context, args),
    ),
    row(containers.filePush, async (context, args) =>
      (await import('../verbs/containers/file-push.ts')).pushFile(context, args),
    ),
    row(containers.fileDelete, async (context, args) =>
      (await import('../verbs/containers/file-delete.ts')).deleteFiles(context, args),
    ),
    row(snapshots.snapshotCreate, async (context, args) => (await snapshot()).createSnapshot(context, args)),
    row(snapshots.snapshotList, async (context, args) => (await snapshot()).listSnapshots(context, args)),
    row(snapshots.snapshotShow, async (context, args) => (await snapshot()).showSnapshots(context, args)),
    row(snapshots.snapshotRename, async (context, args) => (await snapshot()).renameSnapshot(context, args)),
    row(snapshots.snapshotRestore, async (context, args) => (await snapshot()).restoreSnapshot(context, args)),
    row(snapshots.snapshotDelete, async (context, args) => (await snapshot()).deleteSnapshots(context, args)),
    row(backups.backupCreate, async (context, args) => (await backup()).createBackup(context, args)),
    row(backups.backupList, async (context, args) => (await backup()).listBackups(context, args)),
    row(backups.backupExport, async (context, args) => (await backup()).exportBackup(context, args)),
    row(backups.backupImport, async (context, args) => (await backup()).importBackupFile(context, args)),
    row(backups.backupDelete, async (context, args) => (await backup()).deleteBackups(context, args)),
    row(containers.copy, async (context, args) => (await copy()).copy(context, 'copy', args)),
    row(containers.move, async (context, args) => (await copy()).copy(context, 'move', args)),
    row(images.imageList, async (context, args) =>
      (await import('../verbs/images/image-list.ts')).listImages(context, args),
    ),
    row(images.imageImport, async (context, args) => (await newImage()).importImage(context, args)),
    row(images.imageCopy, async (context, args) => (await newImage()).copyImage(context, args)),
    row(images.imagePublish, async (context, args) => (await newImage()).publishImage(context, args)),
    row(images.imageExport, async (context, args) =>
      (await import('../verbs/images/image-export.ts')).exportImage(context, args),
    ),
    row(images.imageRefresh, async (context, args) => (await image()).refreshImage(context, args)),
    row(images.imageDelete, async (context, args) => (await image()).deleteImages(context, args)),
    row(images.imageAlias, async (context, args) => (await image()).setAlias(context, args)),
    row(images.imageUnalias, async (context, args) => (await image()).deleteAliases(context, args)),
  ],
};

const allVerbs = (): readonly Verb[] =>
  Object.values(verbs)
    .flat()
    .map(({ verb }) => verb);
