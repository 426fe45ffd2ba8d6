export function models(){const element=document.createElement("div");return{element,update(){},title:()=>"x"}}
