// Bodies that attract each other: fields and arithmetic.
class Body { constructor(x, y, z, m) { this.x = x; this.y = y; this.z = z; this.vx = 0; this.vy = 0; this.vz = 0; this.m = m; } }
function advance(bodies, dt) {
  for (let i = 0; i < bodies.length; i++) {
    const a = bodies[i];
    for (let j = i + 1; j < bodies.length; j++) {
      const b = bodies[j];
      const dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
      const d2 = dx * dx + dy * dy + dz * dz + 0.01;
      const mag = dt / (d2 * Math.sqrt(d2));
      a.vx -= dx * b.m * mag; a.vy -= dy * b.m * mag; a.vz -= dz * b.m * mag;
      b.vx += dx * a.m * mag; b.vy += dy * a.m * mag; b.vz += dz * a.m * mag;
    }
  }
  for (const b of bodies) { b.x += dt * b.vx; b.y += dt * b.vy; b.z += dt * b.vz; }
}
function energy(bodies) {
  let e = 0;
  for (const b of bodies) e += 0.5 * b.m * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz);
  return e;
}
export function main() {
  const bodies = [];
  for (let i = 0; i < 5; i++) bodies.push(new Body(i, i * 2, -i, 1 + i));
  for (let i = 0; i < 20000; i++) advance(bodies, 0.001);
  return energy(bodies);
}
