// All verbs, with the titles and order of `gantry --help`: the declaration of each, and how its code is loaded when it runs.
import type { KnownVerbs } from '../flags/arrange-words.ts';
import type { OptionsOf, Verb } from '../flags/verb.ts';
import type { Context, Fleet, Run } from '../session/context.ts';
import { readingOnly } from './reading-only.ts';
import * as access from '../verbs/access/access-verbs.ts';
import * as applying from '../verbs/applying/applying-verbs.ts';
import * as cluster from '../verbs/cluster/cluster-verbs.ts';
import * as backups from '../verbs/containers/backup-verbs.ts';
import * as containers from '../verbs/containers/container-verbs.ts';
import * as snapshots from '../verbs/containers/snapshot-verbs.ts';
import * as controlling from '../verbs/controller/controller-verbs.ts';
import * as daily from '../verbs/daily/daily-verbs.ts';
import * as images from '../verbs/images/image-verbs.ts';
import * as importing from '../verbs/moving/import-verbs.ts';
import * as moving from '../verbs/moving/moving-verbs.ts';
import * as objects from '../verbs/objects/object-verbs.ts';
import * as planning from '../verbs/planning/planning-verbs.ts';
import * as setup from '../verbs/setup/setup-verbs.ts';

export interface VerbRow {
  readonly verb: Verb;
  readonly run: Run;
  /** Without it --hosts selects the one host that the verb works on. */
  readonly takesHosts: boolean;
}

type Loader<Name extends string, Code> = readonly [load: () => Promise<Readonly<Record<Name, Code>>>, name: Name];

/** A verb, and the module and name of its code. */
function row<V extends Verb, Name extends string>(
  verb: V,
  [load, name]: Loader<Name, Run<OptionsOf<V>>>,
  takesHosts = false,
): VerbRow {
  const run = async (context: Context, args: readonly string[], fleet?: Fleet) =>
    (await load())[name](context, args, fleet);
  return { verb, run, takesHosts };
}

/** A verb that changes nothing on a server. */
const reader = (row: VerbRow): VerbRow => ({ ...row, run: readingOnly(row.run) });

const onHosts = true;

/** Groups of verbs of two words. */
export const groups: Readonly<Record<string, string>> = {
  file: 'files of containers',
  snapshot: 'snapshots of containers',
  backup: 'backups of containers',
  image: 'images',
  import: 'manifests from what other tools declare',
  trust: 'clients that a server trusts',
  context: 'servers by names, one of which is the default',
  remote: 'servers of images by short names',
  cluster: 'a cluster and its members',
};

const controllerChange = () => import('../verbs/controller/change.ts');
const controllerPrune = () => import('../verbs/controller/prune.ts');
const controllerReports = () => import('../verbs/controller/reports.ts');
const login = () => import('../verbs/access/login.ts');
const contexts = () => import('../verbs/access/context.ts');
const trust = () => import('../verbs/access/trust.ts');
const apply = () => import('../verbs/applying/apply.ts');
const history = () => import('../verbs/applying/history.ts');
const lock = () => import('../verbs/applying/lock.ts');
const adoption = () => import('../verbs/applying/adopt.ts');
const power = () => import('../verbs/daily/power.ts');
const deletion = () => import('../verbs/daily/delete.ts');
const listing = () => import('../verbs/daily/list.ts');
const exec = () => import('../verbs/containers/exec.ts');
const copy = () => import('../verbs/containers/copy.ts');
const snapshot = () => import('../verbs/containers/snapshot.ts');
const backup = () => import('../verbs/containers/backup.ts');
const clusterForm = () => import('../verbs/cluster/form.ts');
const clusterMembers = () => import('../verbs/cluster/members.ts');
const remote = () => import('../verbs/images/remote.ts');
const newImage = () => import('../verbs/images/image-make.ts');
const image = () => import('../verbs/images/image-change.ts');

export const verbs: Readonly<Record<string, readonly VerbRow[]>> = {
  'Change hosts:': [
    reader(row(planning.plan, [() => import('../verbs/planning/plan.ts'), 'plan'], onHosts)),
    row(applying.apply, [apply, 'apply'], onHosts),
    row(applying.destroy, [apply, 'destroy'], onHosts),
    row(applying.run, [() => import('../verbs/applying/run.ts'), 'run'], onHosts),
    row(applying.rollback, [() => import('../verbs/applying/rollback.ts'), 'rollback'], onHosts),
    row(images.update, [() => import('../verbs/images/update.ts'), 'update']),
    row(applying.preseed, [apply, 'preseed']),
    row(applying.lock, [lock, 'lock'], onHosts),
    row(applying.forceUnlock, [lock, 'forceUnlock'], onHosts),
  ],
  'Inspect hosts:': [
    reader(row(planning.status, [() => import('../verbs/planning/status.ts'), 'status'], onHosts)),
    reader(row(planning.drift, [() => import('../verbs/planning/drift.ts'), 'drift'], onHosts)),
    reader(row(planning.diff, [() => import('../verbs/planning/diff.ts'), 'diff'], onHosts)),
    reader(row(applying.history, [history, 'history'], onHosts)),
    reader(row(applying.historyShow, [history, 'historyShow'])),
    reader(row(applying.historyDiff, [history, 'historyDiff'])),
    reader(row(objects.get, [() => import('../verbs/objects/get.ts'), 'get'], onHosts)),
    reader(row(objects.show, [() => import('../verbs/objects/show.ts'), 'show'])),
    row(objects.wait, [() => import('../verbs/objects/wait.ts'), 'wait']),
    row(objects.events, [() => import('../verbs/objects/events.ts'), 'events']),
    reader(row(planning.graph, [() => import('../verbs/planning/graph.ts'), 'graph'])),
    row(setup.doctor, [() => import('../verbs/setup/doctor.ts'), 'doctor'], onHosts),
  ],
  'Controller:': [
    row(controlling.controller, [() => import('../verbs/controller/controller.ts'), 'runController']),
    row(controlling.controllerStatus, [() => import('../verbs/controller/status.ts'), 'showStatus']),
    row(controlling.controllerExplain, [controllerReports, 'explain']),
    row(controlling.controllerDiff, [controllerReports, 'showDiff']),
    row(controlling.controllerPlan, [controllerReports, 'showPlan']),
    row(controlling.controllerHistory, [controllerReports, 'showHistory']),
    row(controlling.controllerBackup, [() => import('../verbs/controller/backup.ts'), 'backup']),
    row(controlling.controllerRestore, [() => import('../verbs/controller/backup.ts'), 'restore']),
    row(controlling.controllerAudit, [() => import('../verbs/controller/audit.ts'), 'audit']),
    row(controlling.controllerLogs, [controllerReports, 'showLogs']),
    row(controlling.controllerSync, [controllerChange, 'sync']),
    row(controlling.controllerSuspend, [controllerChange, 'suspend']),
    row(controlling.controllerResume, [controllerChange, 'resume']),
    row(controlling.controllerPrune, [controllerPrune, 'prune']),
    row(controlling.controllerApprove, [controllerPrune, 'approve']),
    row(controlling.controllerRollback, [controllerChange, 'rollback']),
    row(controlling.ui, [() => import('../verbs/controller/ui.ts'), 'showHost']),
  ],
  'Manifests and tools:': [
    row(setup.init, [() => import('../verbs/setup/init.ts'), 'init']),
    row(objects.exportHost, [() => import('../verbs/objects/export.ts'), 'exportHost'], onHosts),
    row(importing.importCompose, [() => import('../verbs/moving/import-compose.ts'), 'importComposeFile']),
    row(importing.importTerraform, [() => import('../verbs/moving/import-terraform.ts'), 'importTerraformFolder']),
    row(applying.adopt, [adoption, 'adopt']),
    row(applying.release, [adoption, 'release']),
    reader(row(planning.validate, [() => import('../verbs/planning/validate.ts'), 'validate'], onHosts)),
    row(setup.fmt, [() => import('../verbs/setup/fmt.ts'), 'fmt']),
    row(setup.explain, [() => import('../verbs/setup/explain.ts'), 'explainPath']),
    row(setup.docs, [() => import('../verbs/setup/docs.ts'), 'docs']),
    row(setup.schema, [() => import('../verbs/setup/schema.ts'), 'schema']),
    row(setup.completion, [loadCompletion, 'run']),
    row(setup.version, [() => import('../verbs/setup/version.ts'), 'showVersion']),
  ],
  'Access to servers:': [
    row(access.login, [login, 'login']),
    row(access.logout, [login, 'logout']),
    row(access.contextAdd, [contexts, 'addContext']),
    row(access.contextUse, [contexts, 'takeContext']),
    row(access.contextList, [contexts, 'listContexts']),
    row(access.contextRemove, [contexts, 'removeContext']),
    row(access.trustAdd, [trust, 'addToken']),
    row(access.trustJoin, [() => import('../verbs/access/join.ts'), 'joinServer']),
    row(access.trustList, [trust, 'listTrusted'], onHosts),
    row(access.trustShow, [trust, 'showTrusted']),
    row(access.trustRemove, [trust, 'removeTrusted']),
  ],
  'Clusters:': [
    row(cluster.clusterBootstrap, [clusterForm, 'bootstrapCluster']),
    row(cluster.clusterAdd, [clusterForm, 'addMember']),
    row(cluster.clusterJoin, [clusterForm, 'joinCluster']),
    row(cluster.clusterList, [clusterMembers, 'listMembers']),
    row(cluster.clusterShow, [clusterMembers, 'showMembers']),
    row(cluster.clusterRename, [clusterMembers, 'renameMember']),
    row(cluster.clusterRemove, [clusterMembers, 'removeMember']),
    row(cluster.clusterEvacuate, [clusterMembers, 'evacuateMember']),
    row(cluster.clusterRestore, [clusterMembers, 'restoreMember']),
  ],
  'Use containers and images:': [
    row(daily.launch, [() => import('../verbs/daily/launch.ts'), 'launch']),
    reader(row(daily.list, [listing, 'listContainers'], onHosts)),
    reader(row(daily.info, [() => import('../verbs/daily/info.ts'), 'info'])),
    row(daily.start, [power, 'startContainers'], onHosts),
    row(daily.stop, [power, 'stopContainers'], onHosts),
    row(daily.restart, [power, 'restartContainers'], onHosts),
    row(daily.pause, [power, 'pauseContainers'], onHosts),
    row(daily.deleteObjects, [deletion, 'deleteTargets'], onHosts),
    row(daily.logs, [() => import('../verbs/daily/logs.ts'), 'logs']),
    row(daily.shell, [() => import('../verbs/daily/shell.ts'), 'shell']),
    row(daily.top, [() => import('../verbs/daily/top.ts'), 'top']),
    row(daily.setKeys, [() => import('../verbs/daily/set.ts'), 'setKeys']),
    row(daily.edit, [() => import('../verbs/daily/edit.ts'), 'edit']),
    row(daily.portForward, [() => import('../verbs/daily/port-forward.ts'), 'portForward']),
    row(containers.exec, [exec, 'exec']),
    row(containers.attachConsole, [exec, 'attachConsole']),
    row(containers.filePull, [() => import('../verbs/containers/file-pull.ts'), 'pullFile']),
    row(containers.filePush, [() => import('../verbs/containers/file-push.ts'), 'pushFile']),
    row(containers.fileDelete, [() => import('../verbs/containers/file-delete.ts'), 'deleteFiles']),
    row(snapshots.snapshotCreate, [snapshot, 'createSnapshot']),
    row(snapshots.snapshotList, [snapshot, 'listSnapshots']),
    row(snapshots.snapshotShow, [snapshot, 'showSnapshots']),
    row(snapshots.snapshotRename, [snapshot, 'renameSnapshot']),
    row(snapshots.snapshotRestore, [snapshot, 'restoreSnapshot']),
    row(snapshots.snapshotDelete, [snapshot, 'deleteSnapshots']),
    row(backups.backupCreate, [backup, 'createBackup']),
    row(backups.backupList, [backup, 'listBackups']),
    row(backups.backupExport, [backup, 'exportBackup']),
    row(backups.backupImport, [backup, 'importBackupFile']),
    row(backups.backupDelete, [backup, 'deleteBackups']),
    row(moving.migrateFromLxd, [() => import('../verbs/moving/migrate-from-lxd.ts'), 'migrateFromLxd']),
    row(containers.copy, [copy, 'copy']),
    row(containers.move, [copy, 'move']),
    row(images.imageList, [() => import('../verbs/images/image-list.ts'), 'listImages']),
    row(images.imageImport, [newImage, 'importImage']),
    row(images.imageCopy, [newImage, 'copyImage']),
    row(images.imagePublish, [newImage, 'publishImage']),
    row(images.imageExport, [() => import('../verbs/images/image-export.ts'), 'exportImage']),
    row(images.imageRefresh, [image, 'refreshImage']),
    row(images.imageDelete, [image, 'deleteImages']),
    row(images.imageAlias, [image, 'setAlias']),
    row(images.imageUnalias, [image, 'deleteAliases']),
    row(images.remoteList, [remote, 'listRemotes']),
    row(images.remoteAdd, [remote, 'addRemote']),
    row(images.remoteRemove, [remote, 'removeRemote']),
  ],
};

/** All verbs and groups, for the parser. */
export const knownVerbs: KnownVerbs = {
  verbs: Object.values(verbs).flatMap((rows) => rows.map(({ verb }) => verb)),
  groups,
};

/** The scripts complete the verbs of this table. */
async function loadCompletion(): Promise<{ readonly run: Run }> {
  const { completion } = await import('../verbs/setup/completion.ts');
  return { run: (context, args) => completion(context, args, knownVerbs) };
}
