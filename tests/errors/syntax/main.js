const fine = 1;
const broken = fine +;
console.log(broken);
