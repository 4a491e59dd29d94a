/** Shapes that both pictures use. */

type Context = CanvasRenderingContext2D
export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

export function rounded(
  context: Context,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
): void {
  context.beginPath()
  context.roundRect(x, y, Math.max(0, width), Math.max(0, height), Math.min(radius, width / 2, height / 2))
}

export function drawCross(
  context: Context,
  x: number,
  y: number,
  size: number,
  colour: string,
  width: number,
): void {
  context.strokeStyle = colour
  context.lineWidth = width
  context.beginPath()
  context.moveTo(x - size, y - size)
  context.lineTo(x + size, y + size)
  context.moveTo(x + size, y - size)
  context.lineTo(x - size, y + size)
  context.stroke()
}

/** Diagonal lines inside of a box. Lines of neighbouring boxes meet. */
export function drawHatch(
  context: Context,
  { x, y, width, height }: Box,
  { colour, gap }: { readonly colour: string; readonly gap: number },
): void {
  if (width <= 0) return
  context.save()
  context.beginPath()
  context.rect(x, y, width, height)
  context.clip()
  context.strokeStyle = colour
  context.lineWidth = 1.1
  context.globalAlpha = 0.75
  context.beginPath()
  const first = Math.floor((x - height) / gap) * gap
  for (let left = first; left < x + width; left += gap) {
    context.moveTo(left, y + height)
    context.lineTo(left + height, y)
  }
  context.stroke()
  context.restore()
}

/** A star for a leader, as in the glyphs of the page. */
export function starPath(context: Context, x: number, y: number, radius: number): void {
  context.beginPath()
  for (let point = 0; point < 10; point += 1) {
    const angle = -Math.PI / 2 + (point * Math.PI) / 5
    const reach = point % 2 === 0 ? radius : radius * 0.45
    context.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle))
  }
  context.closePath()
}

export function line(context: Context, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath()
  context.moveTo(x1, y1)
  context.lineTo(x2, y2)
  context.stroke()
}

/** Text that stays readable over lines. */
export function label(
  context: Context,
  text: string,
  x: number,
  y: number,
  colour: string,
  ground: string,
): void {
  context.lineJoin = 'round'
  context.strokeStyle = ground
  context.lineWidth = 4
  context.strokeText(text, x, y)
  context.fillStyle = colour
  context.fillText(text, x, y)
}
