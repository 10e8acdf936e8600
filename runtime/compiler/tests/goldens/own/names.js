const $own = 1, $1 = (x) => x.add($own);
export default $1;
