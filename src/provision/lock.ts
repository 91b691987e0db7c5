import { readFileSync } from 'node:fs'
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Takes a lock file that names this process. `undefined` when a living process holds it; one left by a process
 * that died is taken over. The answer is the undo.
 */
export async function takeLock(path: string): Promise<(() => Promise<void>) | undefined> {
  await mkdir(dirname(path), { recursive: true })
  if (!(await claim(path))) {
    if (await isHeld(path)) return undefined
    await rm(path, { force: true })
    if (!(await claim(path))) return undefined
  }
  return () => rm(path, { force: true })
}

/** Signs first and links then, so that nobody ever sees a lock without its holder. */
async function claim(path: string): Promise<boolean> {
  const signed = `${path}.${process.pid}.${process.hrtime.bigint()}`
  await writeFile(signed, String(process.pid))
  try {
    await link(signed, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(signed, { force: true })
  }
}

async function isHeld(path: string): Promise<boolean> {
  const pid = Number(await readFile(path, 'utf8').catch(() => ''))
  if (pid !== process.pid) return isAlive(pid)
  // In a container process numbers repeat: a lock older than this process was left by its namesake.
  const made = await stat(path).catch(() => undefined)
  return made !== undefined && made.mtimeMs >= Date.now() - process.uptime() * 1000
}

/** The process that signed a lock, `undefined` when nobody has. */
export async function holderOf(path: string): Promise<number | undefined> {
  return Number(await readFile(path, 'utf8').catch(() => '')) || undefined
}

/** True while a process of this number runs, whoever owns it; one that only waits to be reaped does not. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  return !isZombie(pid)
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}
